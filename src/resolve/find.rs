//! The ladder: exact, folded, near; scope, role and ordinal on the way.

use std::collections::HashSet;

use crate::page::{Node, NodeId, Observation, Sought};
use crate::scenario::{By, Scope, Target, Verb};
use crate::text::fold::{fold, fold_case, undecorate, words};

use super::explain::{self, place_of};
use super::fit::{Fit, fits, role_matches};
use super::headed;
use super::{Chooser, MARGIN, Miss, Near, Pick};

/// What is looked for, and how strictly.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    pub target: &'a Target,
    pub verb: Verb,
    pub scope: &'a Scope,
    /// Near matches allowed at all (not for steps that write).
    pub near: bool,
    /// The target comes from a sentence: one unique whole-word containment counts as near.
    pub sentence: bool,
}

/// A rung of the ladder, in the order tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    Exact,
    Folded,
    /// Differs only by decoration.
    Plain,
    /// Sentences only: the name's words stand in the phrase, or the phrase's in the name.
    Words,
    /// Rows, items and the like seldom have a name of their own: a cell or heading in them has it, or it
    /// is all their text beside their controls.
    Part,
    /// The whole text they hold.
    Content,
    /// Their text holds the words.
    ContentWords,
    Other(Chooser),
}

impl Rung {
    fn chooser(self) -> Chooser {
        match self {
            Self::Exact => Chooser::Exact,
            Self::Folded => Chooser::Folded,
            Self::Plain | Self::Words | Self::ContentWords => Chooser::Near,
            Self::Part | Self::Content => Chooser::Text,
            Self::Other(chooser) => chooser,
        }
    }
}

/// What only the page can tell of a target: elements named by a selector or by their text.
pub fn sought(target: &Target) -> Option<Sought> {
    sought_by(&target.by)
}

fn sought_by(by: &By) -> Option<Sought> {
    match by {
        By::Css(css) => Some(Sought::Css(css.clone())),
        By::Text(text) => Some(Sought::Text(text.clone())),
        By::Name { .. } | By::TestId(_) => None,
    }
}

/// One element that matches at some rung.
#[derive(Debug, Clone, Copy)]
struct Match {
    id: NodeId,
    rung: Rung,
    fit: Fit,
}

impl Match {
    fn score(&self) -> f64 {
        let words = match self.rung {
            Rung::Words | Rung::ContentWords => 0.04,
            _ => 0.0,
        };
        self.rung.chooser().score() - words - self.fit.cost()
    }
}

/// Finds the one element a target means, or says why there is none.
pub fn resolve(observation: &Observation, query: &Query) -> Result<Pick, Miss> {
    let scopes = scopes(observation, &query.scope.within)?;
    let pool = pool(observation, query, &scopes);
    let offered = pool.iter().filter(|(_, node, _)| node.reachable).count();
    let mut matches = Vec::new();
    let mut behind = Vec::new();
    for rung in rungs(query) {
        let hits = hits(observation, &query.target.by, &pool, rung)
            .into_iter()
            .map(|(id, _, fit)| Match { id, rung, fit });
        let (reachable, hidden): (Vec<_>, Vec<_>) =
            hits.partition(|m| observation.node(m.id).is_some_and(|n| n.reachable));
        behind.extend(hidden);
        if !reachable.is_empty() {
            matches = reachable;
            break;
        }
    }
    if matches.is_empty() {
        return Err(match behind.first() {
            Some(first) => explain::behind_dialog(observation, first.id),
            None => explain::not_found(observation, query, &pool),
        });
    }
    if query.verb == Verb::Select {
        without_popups(observation, &mut matches);
    }
    pick(observation, query, matches, offered, &pool)
}

/// An open list with the name of its combobox is the same control.
fn without_popups(observation: &Observation, matches: &mut Vec<Match>) {
    let role = |m: &Match| observation.node(m.id).map_or("", |n| n.role.as_str());
    let boxes = matches.iter().filter(|m| role(m) == "combobox").count();
    let lists = matches.iter().filter(|m| role(m) == "listbox").count();
    if boxes == 1 && lists == 1 && matches.len() == 2 {
        matches.retain(|m| role(m) == "combobox");
    }
}

type Pool<'a> = Vec<(NodeId, &'a Node, Fit)>;

fn rungs(query: &Query) -> Vec<Rung> {
    match &query.target.by {
        By::Name { exact: true, .. } => vec![Rung::Exact],
        By::Name { .. } if query.sentence => {
            vec![Rung::Exact, Rung::Folded, Rung::Plain, Rung::Words]
        }
        By::Name {
            role: Some(role), ..
        } if named_by_content(role) => vec![
            Rung::Exact,
            Rung::Folded,
            Rung::Plain,
            Rung::Part,
            Rung::Content,
            Rung::ContentWords,
        ],
        By::Name { .. } => vec![Rung::Exact, Rung::Folded, Rung::Plain],
        By::TestId(_) => vec![Rung::Other(Chooser::TestId)],
        By::Text(_) => vec![Rung::Other(Chooser::Text)],
        By::Css(_) => vec![Rung::Other(Chooser::Css)],
    }
}

/// Elements in scope whose role fits.
fn pool<'a>(observation: &'a Observation, query: &Query, scopes: &[Vec<NodeId>]) -> Pool<'a> {
    observation
        .nodes()
        .filter(|(id, _)| inside_all(observation, *id, scopes))
        // A hidden file field is listed for uploads; to everything else it is not there.
        .filter(|(_, node)| query.verb == Verb::Upload || !is_hidden_file_field(node))
        .filter_map(|(id, node)| {
            let fit = match &query.target.by {
                By::Name {
                    role: Some(role), ..
                } => role_matches(role, node).then(|| {
                    if *role == node.role {
                        Fit::Best
                    } else {
                        Fit::Second
                    }
                }),
                By::Name { role: None, .. } => fits(query.verb, node),
                _ => Some(Fit::Best),
            }?;
            Some((id, node, fit))
        })
        .collect()
}

fn is_hidden_file_field(node: &Node) -> bool {
    node.rect.is_none() && node.input_type.as_deref() == Some("file")
}

/// Roles that hold things. Most take no name from what they hold (WAI-ARIA 1.2 "Name From: author"),
/// and a row's is all it holds.
fn named_by_content(role: &str) -> bool {
    matches!(
        role,
        "row"
            | "listitem"
            | "treeitem"
            | "article"
            | "group"
            | "region"
            | "form"
            | "figure"
            | "status"
            | "alert"
            | "log"
            | "paragraph"
            | "tabpanel"
            | "dialog"
            | "banner"
            | "contentinfo"
            | "table"
            | "list"
    )
}

/// Those of a pool that answer to a target at a rung, the innermost where what they hold decides.
fn hits<'a, T: Copy>(
    observation: &Observation,
    by: &By,
    pool: &[(NodeId, &'a Node, T)],
    rung: Rung,
) -> Vec<(NodeId, &'a Node, T)> {
    let chosen = |holds: &dyn Fn(NodeId, &Node) -> bool| {
        let held = pool.iter().filter(|(id, node, _)| holds(*id, node));
        held.copied().collect::<Vec<_>>()
    };
    let inner = |found: Vec<(NodeId, &'a Node, T)>| {
        let inner = innermost(observation, found.iter().map(|(id, ..)| *id).collect());
        let kept = found.into_iter().filter(|(id, ..)| inner.contains(id));
        kept.collect()
    };
    let name = match by {
        By::Name { name: None, .. } => return chosen(&|_, _| rung == Rung::Exact),
        By::Name {
            name: Some(name), ..
        } => name,
        By::TestId(wanted) => {
            return chosen(&|_, node| node.test_id.as_deref() == Some(wanted.as_str()));
        }
        By::Text(_) | By::Css(_) => {
            let found = sought_by(by).and_then(|s| observation.found(&s));
            let found = found.unwrap_or_default();
            return chosen(&|id, _| found.contains(&id));
        }
    };
    match rung {
        Rung::Part => {
            let parts = parts_named(observation, name);
            inner(chosen(&|id, node| {
                parts.contains(&id) || nameless(node) && own_text(observation, id, name)
            }))
        }
        Rung::Content => inner(chosen(&|id, node| {
            nameless(node) && fold(observation.text_of(id)) == fold(name)
        })),
        Rung::ContentWords => {
            let wanted = words(name);
            inner(chosen(&|id, node| {
                nameless(node) && contains_words(&words(observation.text_of(id)), &wanted)
            }))
        }
        _ => chosen(&|_, node| name_holds(name, &node.name, rung)),
    }
}

/// What has no name of its own: none at all, or all that stands in it.
fn nameless(node: &Node) -> bool {
    node.name.is_empty() || matches!(node.role.as_str(), "row" | "treeitem" | "option")
}

/// Places with a cell or a heading of just this name, that belongs to no smaller place.
fn parts_named(observation: &Observation, name: &str) -> HashSet<NodeId> {
    let wanted = fold_case(name);
    observation
        .nodes()
        .filter(|(_, n)| {
            matches!(
                n.role.as_str(),
                "heading" | "cell" | "gridcell" | "rowheader" | "columnheader"
            ) && fold_case(&n.name) == wanted
        })
        .filter_map(|(id, _)| {
            let mut up = observation.ancestors(id);
            up.find(|(_, n)| explain::is_place(n)).map(|(id, _)| id)
        })
        .collect()
}

/// Whether this is what stands in a place beside its controls ("Rope" beside a *Remove* button).
fn own_text(observation: &Observation, id: NodeId, name: &str) -> bool {
    let (wanted, all) = (fold_case(name), observation.text_of(id));
    if !fold_case(all).starts_with(&wanted) {
        return false;
    }
    let Some(document) = observation.documents.get(id.document as usize) else {
        return false;
    };
    let place = &document.nodes[id.node as usize].text;
    // A node comes before what it holds, and what it holds stands together.
    let controls = document.nodes[id.node as usize + 1..]
        .iter()
        .take_while(|n| n.text.start < place.end || n.text.is_empty())
        .filter(|n| n.interactive && !n.text.is_empty() && place.contains(&n.text.start));
    let mut rest = String::new();
    let mut at = place.start;
    for control in controls {
        if control.text.start >= at {
            rest.push_str(&document.text[at..control.text.start]);
            at = control.text.end.min(place.end);
        }
    }
    rest.push_str(&document.text[at..place.end]);
    fold_case(&rest) == wanted
}

/// Whether an accessible name answers to a written one at a rung of the ladder.
fn name_holds(wanted: &str, name: &str, rung: Rung) -> bool {
    match rung {
        Rung::Exact => fold(wanted) == fold(name),
        Rung::Folded => fold_case(wanted) == fold_case(name),
        Rung::Words => {
            let (wanted, name) = (words(wanted), words(name));
            contains_words(&name, &wanted) || contains_words(&wanted, &name)
        }
        Rung::Plain => {
            let (plain_wanted, plain) = (undecorate(wanted), undecorate(name));
            !plain.is_empty() && fold_case(&plain_wanted) == fold_case(&plain)
        }
        Rung::Part | Rung::Content | Rung::ContentWords | Rung::Other(_) => false,
    }
}

fn pick(
    observation: &Observation,
    query: &Query,
    mut matches: Vec<Match>,
    offered: usize,
    pool: &Pool,
) -> Result<Pick, Miss> {
    matches.sort_by_key(|m| m.fit);
    let best = matches[0];
    let tied: Vec<Match> = matches
        .iter()
        .copied()
        .filter(|m| best.score() - m.score() < MARGIN)
        .collect();
    let tied = outermost_twins_removed(observation, tied);
    let mut tied = seen_ones(observation, tied);
    tied.sort_by_key(|m| (m.id.document, m.id.node));
    let chosen = match query.scope.nth {
        Some(nth) => *tied
            .get(nth.saturating_sub(1))
            .ok_or_else(|| explain::too_few(observation, query, nth, ids(&tied)))?,
        None if tied.len() > 1 => {
            return Err(explain::ambiguous(
                observation,
                query,
                &near_list(observation, &tied),
            ));
        }
        None => tied[0],
    };
    if chosen.rung.chooser() == Chooser::Near && !query.near {
        return Err(explain::only_near(
            observation,
            query,
            &near_list(observation, &tied),
        ));
    }
    let node = observation
        .node(chosen.id)
        .expect("a match is a node of this observation");
    let runner_up = matches
        .iter()
        .find(|m| m.id != chosen.id && !tied.iter().any(|t| t.id == m.id))
        .map(|m| near(observation, m.id, m.score()))
        .or_else(|| {
            explain::nearest(observation, query, pool, chosen.id)
                .into_iter()
                .next()
        });
    Ok(Pick {
        id: chosen.id,
        chooser: chosen.rung.chooser(),
        role: node.role.clone(),
        name: node.name.clone(),
        scope: scope_of(observation, chosen.id),
        score: chosen.score(),
        runner_up,
        candidates: offered,
    })
}

fn ids(matches: &[Match]) -> Vec<NodeId> {
    matches.iter().map(|m| m.id).collect()
}

/// A control inside a control of the same name (a button in an option, a link around a button) is
/// one thing to a person: the inner one is kept.
fn outermost_twins_removed(observation: &Observation, matches: Vec<Match>) -> Vec<Match> {
    matches
        .iter()
        .copied()
        .filter(|outer| {
            !matches.iter().any(|inner| {
                inner.id != outer.id
                    && observation
                        .ancestors(inner.id)
                        .any(|(id, _)| id == outer.id)
                    && observation.node(inner.id).map(|n| fold(&n.name))
                        == observation.node(outer.id).map(|n| fold(&n.name))
            })
        })
        .collect()
}

/// Of twins, those without any size or outside where a page can be scrolled to (a copy for another
/// width of window) are not meant, as long as one is to be seen.
fn seen_ones(observation: &Observation, matches: Vec<Match>) -> Vec<Match> {
    let seen = |m: &Match| {
        let rect = observation.node(m.id).and_then(|n| n.rect);
        rect.is_some_and(|r| r.width > 0.0 && r.height > 0.0 && r.x + r.width > 0.0)
    };
    let kept: Vec<Match> = matches.iter().copied().filter(seen).collect();
    if kept.is_empty() { matches } else { kept }
}

pub(super) fn near(observation: &Observation, id: NodeId, score: f64) -> Near {
    let mut node = observation.node(id).cloned().unwrap_or_default();
    if node.name.is_empty() && named_by_content(&node.role) {
        node.name = crate::text::cut(&fold(observation.text_of(id)), 60);
    }
    Near {
        id,
        role: node.role,
        name: node.name,
        score,
        place: place_of(observation, id),
    }
}

fn near_list(observation: &Observation, matches: &[Match]) -> Vec<Near> {
    matches
        .iter()
        .map(|m| near(observation, m.id, m.score()))
        .collect()
}

/// Named ancestors that tell where an element is, outermost first.
fn scope_of(observation: &Observation, id: NodeId) -> Vec<String> {
    let mut scope: Vec<String> = observation
        .ancestors(id)
        .filter(|(_, node)| explain::tells_place(node))
        .map(|(_, node)| explain::describe(explain::place_word(node), &node.name))
        .collect();
    scope.reverse();
    scope
}

/// Every element a target means, in document order (for counts, waits and masks): the first rung
/// with a match, near left out.
pub fn find_all(
    observation: &Observation,
    target: &Target,
    verb: Verb,
    within: &[Target],
    contains: bool,
) -> Result<Vec<NodeId>, Miss> {
    let scope = Scope {
        within: within.to_vec(),
        nth: None,
    };
    let query = Query {
        target,
        verb,
        scope: &scope,
        near: false,
        sentence: false,
    };
    was_sought(observation, target)?;
    let scopes = scopes(observation, within)?;
    let pool = pool(observation, &query, &scopes);
    if contains
        && let By::Name {
            name: Some(name), ..
        } = &target.by
    {
        let wanted = fold(name);
        return Ok(pool
            .iter()
            .filter(|(_, n, _)| fold(&n.name).contains(&wanted))
            .map(|(id, ..)| *id)
            .collect());
    }
    for rung in rungs(&query) {
        if rung.chooser() == Chooser::Near {
            continue;
        }
        let hits = hits(observation, &target.by, &pool, rung);
        if !hits.is_empty() {
            return Ok(hits.into_iter().map(|(id, ..)| id).collect());
        }
    }
    Ok(Vec::new())
}

/// A selector the browser refuses finds nothing, which is not the same as nothing being there.
fn was_sought(observation: &Observation, target: &Target) -> Result<(), Miss> {
    match sought(target) {
        Some(sought) if observation.found(&sought).is_none() => {
            Err(explain::not_to_be_sought(target))
        }
        _ => Ok(()),
    }
}

// ---- scopes --------------------------------------------------------------------------------

/// The elements each `within` may mean. Their order doesn't matter: a candidate lies in all.
pub fn scopes(observation: &Observation, within: &[Target]) -> Result<Vec<Vec<NodeId>>, Miss> {
    within
        .iter()
        .map(|target| {
            // A text names a place by its name.
            if !matches!(target.by, By::Text(_)) {
                was_sought(observation, target)?;
            }
            let found = scope_matches(observation, target);
            if found.is_empty() {
                Err(explain::no_scope(observation, target))
            } else {
                Ok(found)
            }
        })
        .collect()
}

/// A scope is named more loosely than a control: rows, items and regions seldom have a name of
/// their own, so words they hold count, but only after a real name.
fn scope_matches(observation: &Observation, target: &Target) -> Vec<NodeId> {
    let (role, name) = match &target.by {
        By::Name { role, name, .. } => (role.as_deref(), name.as_deref()),
        By::Text(text) => (None, Some(text.as_str())),
        By::TestId(_) | By::Css(_) => (None, None),
    };
    if let (Some("heading"), Some(name)) = (role, name) {
        return headed::under(observation, name).concat();
    }
    let places: Vec<(NodeId, &Node, ())> = observation
        .nodes()
        .filter(|(_, n)| match (&target.by, role) {
            (By::TestId(_) | By::Css(_), _) => true,
            (_, Some(role)) => role_matches(role, n),
            (_, None) => explain::is_place(n) || matches!(n.tag.as_str(), "iframe" | "frame"),
        })
        .map(|(id, n)| (id, n, ()))
        .collect();
    let ids = |found: Vec<(NodeId, &Node, ())>| found.into_iter().map(|(id, ..)| id).collect();
    let Some(name) = name else {
        return ids(hits(observation, &target.by, &places, Rung::Exact));
    };
    let named = By::Name {
        role: None,
        name: Some(name.to_owned()),
        exact: false,
    };
    for rung in [Rung::Exact, Rung::Folded, Rung::Plain, Rung::Part] {
        if rung == Rung::Part && role.is_none() {
            let sections = headed::one_of_several(observation, name);
            if !sections.is_empty() {
                return sections;
            }
        }
        let found = hits(observation, &named, &places, rung);
        if !found.is_empty() {
            return ids(found);
        }
    }
    let wordy: Vec<_> = places
        .into_iter()
        .filter(|(_, n, ())| role.is_some() || told_by_words(&n.role))
        .collect();
    let wanted = words(name);
    let found = wordy
        .into_iter()
        .filter(|(id, ..)| contains_words(&words(observation.text_of(*id)), &wanted))
        .map(|(id, ..)| id)
        .collect();
    let found = innermost(observation, found);
    if found.is_empty()
        && role.is_none()
        && let Some(role) = crate::scenario::role_word(name)
    {
        // A bare role word: `within: navigation`.
        return observation
            .nodes()
            .filter(|(_, n)| role_matches(role, n))
            .map(|(id, _)| id)
            .collect();
    }
    found
}

/// Places any words of which tell which one is meant, without their role.
fn told_by_words(role: &str) -> bool {
    matches!(
        role,
        "row" | "listitem" | "article" | "option" | "treeitem" | "group" | "cell" | "gridcell"
    )
}

fn innermost(observation: &Observation, ids: Vec<NodeId>) -> Vec<NodeId> {
    ids.iter()
        .copied()
        .filter(|outer| {
            !ids.iter().any(|inner| {
                inner != outer && observation.ancestors(*inner).any(|(a, _)| a == *outer)
            })
        })
        .collect()
}

/// Whether `wanted` stands in `text` as a run of whole words.
pub(super) fn contains_words(text: &[String], wanted: &[String]) -> bool {
    !wanted.is_empty() && text.windows(wanted.len()).any(|w| w == wanted)
}

pub(super) fn inside_all(observation: &Observation, id: NodeId, scopes: &[Vec<NodeId>]) -> bool {
    scopes.iter().all(|scope| {
        scope.contains(&id) || observation.ancestors(id).any(|(a, _)| scope.contains(&a))
    })
}
