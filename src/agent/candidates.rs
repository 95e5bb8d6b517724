//! Which controls of a page a model is offered, and in what words.
//!
//! A line is `e12 button "Sign in"` with the states that matter, and the place only where two
//! lines would else be equal. Ids never come back: a list continues where the last one ended, so
//! an id out of an earlier list is known to be stale instead of meaning something else.

use super::error::AnswerError;
use super::lines::describe;
use super::prompt::{cut, one_line};
use super::words::{overlap, words};
use crate::page::observation::{HintKind, Node, NodeId, Observation};
use crate::scenario::model::Verb;

/// Up to here every control is offered.
pub const CAP: usize = 60;
/// Above, this many in the first part: inputs first, then whatever has a name.
const NAMED: usize = 40;
/// Of which inputs take no more than this while other named controls wait.
const INPUTS: usize = 28;
/// And these after them, whatever they are.
const TAIL: usize = 8;

/// What the offer is for: the ranking, and which roles come first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Purpose {
    /// `None` for the planner, who picks the verb.
    pub verb: Option<Verb>,
    /// The words to rank by: target phrase, or goal.
    pub words: String,
    /// Offered at most; [`CAP`] above all.
    pub limit: Option<usize>,
}

/// Numbers for candidates, never given out twice in its life.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids {
    last: u32,
}

impl Ids {
    pub(super) fn give(&mut self) -> String {
        self.last += 1;
        format!("e{}", self.last)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub id: String,
    pub node: NodeId,
    pub role: String,
    /// The words shown for it, unquoted and cut.
    pub name: String,
    pub line: String,
    /// Options of a native select.
    pub options: Vec<String>,
    /// A field for a secret: only a credential may go in.
    pub secret: bool,
}

/// One list as offered, bound to one observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub generation: u32,
    pub candidates: Vec<Candidate>,
    /// Controls on the page, offered or not.
    pub total: usize,
    /// From 0; `look_further` asks for the next.
    pub page: usize,
    pub pages: usize,
    first: u32,
}

impl Offer {
    /// The first list, or a further one of the same observation.
    pub fn new(page: &Observation, purpose: &Purpose, part: usize, ids: &mut Ids) -> Self {
        let found = collect(page);
        let total = found.len();
        let ranked = rank(found, purpose);
        let size = part_size(total, purpose.limit);
        let pages = total.div_ceil(size.max(1)).max(1);
        let part = part.min(pages - 1);
        let mut shown: Vec<Found> = ranked.into_iter().skip(part * size).take(size).collect();
        if purpose.verb.is_none() {
            shown.sort_by_key(|f| f.order);
        }
        let first = ids.last + 1;
        let candidates = describe(page, &shown, ids);
        Self {
            generation: page.generation,
            candidates,
            total,
            page: part,
            pages,
            first,
        }
    }

    /// The control an id stands for. Only ids of this list count.
    pub fn find(&self, id: &str) -> Result<&Candidate, AnswerError> {
        if let Some(found) = self.candidates.iter().find(|c| c.id == id) {
            return Ok(found);
        }
        let number = id.strip_prefix('e').and_then(|n| n.parse::<u32>().ok());
        match number {
            Some(n) if n > 0 && n < self.first => Err(AnswerError::StaleId(cut(id, 40))),
            _ => Err(AnswerError::UnknownId(cut(id, 40))),
        }
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.candidates.iter().map(|c| c.id.as_str())
    }

    pub fn has_more(&self) -> bool {
        self.page + 1 < self.pages
    }

    /// "24 of 3,100", or `None` if nothing was left out.
    pub fn cut(&self) -> Option<String> {
        (self.candidates.len() < self.total)
            .then(|| format!("{} of {}", self.candidates.len(), thousands(self.total)))
    }

    /// The lines as a prompt holds them.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.candidates.iter().map(|c| c.line.clone()).collect();
        if let Some(cut) = self.cut() {
            let part = match self.page {
                0 => String::new(),
                page => format!(", part {}", page + 1),
            };
            lines.push(format!("({cut} controls{part})"));
        }
        if lines.is_empty() {
            lines.push("(no controls)".into());
        }
        lines
    }
}

fn part_size(total: usize, limit: Option<usize>) -> usize {
    let size = if total <= CAP { CAP } else { NAMED + TAIL };
    limit.unwrap_or(size).min(size)
}

pub(super) struct Found<'a> {
    pub node: &'a Node,
    pub id: NodeId,
    /// Place in the document order.
    pub order: usize,
    pub name: String,
    /// Taken from a hint, not from a name.
    pub hinted: bool,
}

/// Visible, reachable, interactive, each once: words inside a control belong to the control.
fn collect(page: &Observation) -> Vec<Found<'_>> {
    page.nodes()
        .filter(|(_, node)| node.interactive && node.reachable)
        .filter(|(_, node)| node.rect.is_some_and(|r| r.width > 0.0 && r.height > 0.0))
        .enumerate()
        .map(|(order, (id, node))| {
            let (name, hinted) = shown_name(page, id, node);
            Found {
                node,
                id,
                order,
                name,
                hinted,
            }
        })
        .collect()
}

/// Name, else the text inside, else a hint a person could see. Never the `name` attribute.
fn shown_name(page: &Observation, id: NodeId, node: &Node) -> (String, bool) {
    let name = one_line(&node.name);
    if !name.is_empty() {
        return (cut(&name, 80), false);
    }
    // A field's own text is its value or its options, not its name.
    if !is_input(&node.role) {
        let text = one_line(page.text_of(id));
        if !text.is_empty() {
            return (cut(&text, 80), false);
        }
    }
    let hint = node
        .hints
        .iter()
        .find(|h| h.kind != HintKind::NameAttribute);
    match hint.map(|h| one_line(&h.text)).filter(|t| !t.is_empty()) {
        Some(text) => (cut(&text, 80), true),
        None => (String::new(), false),
    }
}

fn is_input(role: &str) -> bool {
    matches!(
        role,
        "textbox"
            | "searchbox"
            | "combobox"
            | "listbox"
            | "spinbutton"
            | "slider"
            | "checkbox"
            | "radio"
            | "switch"
    )
}

/// Roles a verb can work on; `None`: any.
fn fits(verb: Verb, role: &str) -> bool {
    match verb {
        Verb::Fill => matches!(
            role,
            "textbox" | "searchbox" | "combobox" | "spinbutton" | "slider"
        ),
        Verb::Select => matches!(
            role,
            "combobox"
                | "listbox"
                | "radiogroup"
                | "radio"
                | "option"
                | "button"
                | "menu"
                | "textbox"
        ),
        Verb::Check | Verb::Uncheck => matches!(
            role,
            "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio" | "option"
        ),
        _ => true,
    }
}

/// One fixed order: of a sentence by fit and words; of a goal, above the cap, inputs first, then
/// named controls, then a short tail, each by words.
fn rank<'a>(mut found: Vec<Found<'a>>, purpose: &Purpose) -> Vec<Found<'a>> {
    let wanted = words(&purpose.words);
    let score = |f: &Found| {
        let own = overlap(&wanted, &f.name);
        let hints = f
            .node
            .hints
            .iter()
            .filter(|h| h.kind != HintKind::NameAttribute);
        own * 2 + hints.map(|h| overlap(&wanted, &h.text)).max().unwrap_or(0)
    };
    let able = |f: &Found| !f.node.states.disabled;
    match purpose.verb {
        Some(verb) => {
            if found.iter().any(|f| fits(verb, &f.node.role)) {
                found.sort_by_cached_key(|f| {
                    let fit = fits(verb, &f.node.role);
                    (
                        !fit,
                        usize::MAX - score(f),
                        !able(f),
                        f.name.is_empty(),
                        f.order,
                    )
                });
            }
            found
        }
        None if found.len() <= CAP => found,
        None => {
            found.sort_by_cached_key(|f| (usize::MAX - score(f), !able(f), f.order));
            let (inputs, others): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|f| is_input(&f.node.role));
            let (named, unnamed): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|f| !f.name.is_empty());
            interleave(inputs, named, unnamed)
        }
    }
}

/// Every list in the order of R48: inputs, named, tail; then the same of what is left.
fn interleave<'a>(
    inputs: Vec<Found<'a>>,
    named: Vec<Found<'a>>,
    unnamed: Vec<Found<'a>>,
) -> Vec<Found<'a>> {
    let mut out = Vec::with_capacity(inputs.len() + named.len() + unnamed.len());
    let (mut inputs, mut named, mut unnamed) = (
        inputs.into_iter().peekable(),
        named.into_iter().peekable(),
        unnamed.into_iter().peekable(),
    );
    while inputs.peek().is_some() || named.peek().is_some() || unnamed.peek().is_some() {
        let waiting = named.len();
        let room = if waiting >= NAMED - INPUTS {
            INPUTS
        } else {
            NAMED - waiting
        };
        let before = out.len();
        out.extend(inputs.by_ref().take(room));
        out.extend(named.by_ref().take(NAMED - (out.len() - before)));
        let tail = NAMED + TAIL - (out.len() - before);
        out.extend(unnamed.by_ref().take(tail));
        let rest = NAMED + TAIL - (out.len() - before);
        out.extend(named.by_ref().take(rest));
        let rest = NAMED + TAIL - (out.len() - before);
        out.extend(inputs.by_ref().take(rest));
    }
    out
}

fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
