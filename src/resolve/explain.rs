//! What to say when there is no pick: the nearest names, what tells twins apart, how to narrow.

use crate::page::{HintKind, Node, NodeId, Observation, Unread, UnreadKind};
use crate::scenario::{By, Target, Verb};
use crate::text::fold::{fold_case, words};
use crate::text::visible;

use super::find::{Query, contains_words, near};
use super::fit::{Fit, TEXT_FIELDS};
use super::{Miss, MissKind, Near};

const SHOWN: usize = 5;

/// `button "Sign in"`, in the syntax an author writes.
pub fn describe(role: &str, name: &str) -> String {
    if name.is_empty() {
        role.to_owned()
    } else {
        format!("{role} \"{}\"", visible(name).replace('"', "\\\""))
    }
}

/// The nearest place a person would name: `dialog "Welcome"`, `row "Order 7"`, `navigation`.
pub fn place_of(observation: &Observation, id: NodeId) -> Option<String> {
    let own = observation.node(id).map(|n| fold_case(&n.name));
    observation
        .ancestors(id)
        // A cell or item that holds nothing else tells no more than the thing itself.
        .find(|(_, n)| tells_place(n) && own != Some(fold_case(&n.name)))
        .map(|(id, n)| {
            let role = place_word(n);
            if !n.name.is_empty() {
                return describe(role, &n.name);
            }
            match observation.nodes().find(|(h, c)| {
                c.role == "heading" && observation.ancestors(*h).any(|(a, _)| a == id)
            }) {
                Some((_, heading)) => describe(role, &heading.name),
                None => match told_by(observation, id, n) {
                    Some(words) => describe(role, &words),
                    None => role.to_owned(),
                },
            }
        })
}

/// The words a person would tell an unnamed row or item by: its first cell, or how it begins.
fn told_by(observation: &Observation, id: NodeId, node: &Node) -> Option<String> {
    let text = match node.role.as_str() {
        "row" => observation
            .nodes()
            .find(|(cell, c)| {
                matches!(c.role.as_str(), "rowheader" | "cell" | "gridcell")
                    && observation
                        .ancestors(*cell)
                        .next()
                        .is_some_and(|(row, _)| row == id)
            })
            .map_or("", |(cell, _)| observation.text_of(cell)),
        "listitem" | "article" => observation.text_of(id),
        _ => "",
    };
    let words: Vec<&str> = text.split_whitespace().take(6).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The word a `within:` names a place by.
pub(super) fn place_word(node: &Node) -> &str {
    match (node.role.as_str(), node.tag.as_str()) {
        ("generic", "header") => "header",
        ("generic", "footer") => "footer",
        (role, _) => role,
    }
}

pub(super) fn is_place(node: &Node) -> bool {
    place_word(node) != node.role
        || matches!(
            node.role.as_str(),
            "dialog"
                | "alertdialog"
                | "region"
                | "navigation"
                | "banner"
                | "contentinfo"
                | "main"
                | "complementary"
                | "form"
                | "search"
                | "row"
                | "listitem"
                | "article"
                | "group"
                | "toolbar"
                | "menu"
                | "menubar"
                | "table"
                | "grid"
                | "list"
                | "listbox"
                | "tabpanel"
                | "radiogroup"
                | "figure"
                | "tree"
                | "treeitem"
                | "cell"
                | "gridcell"
                | "alert"
                | "status"
                | "tablist"
                | "option"
                | "iframe"
        )
}

/// Places worth printing: all but the anonymous boxes every page is full of.
pub(super) fn tells_place(node: &Node) -> bool {
    is_place(node)
        && !(node.name.is_empty()
            && matches!(
                node.role.as_str(),
                "group" | "list" | "table" | "cell" | "main"
            ))
}

fn wanted(query: &Query) -> String {
    match &query.target.by {
        By::Name { role, name, .. } => {
            let role = role
                .clone()
                .unwrap_or_else(|| control_word(query.verb).to_owned());
            describe(&role, name.as_deref().unwrap_or_default())
        }
        By::Text(text) => format!("text \"{}\"", visible(text)),
        By::TestId(id) => format!("element with test id \"{id}\""),
        By::Css(css) => format!("element matching {css}"),
    }
}

fn control_word(verb: Verb) -> &'static str {
    match verb {
        Verb::Click => "button, link or other control",
        Verb::Fill => "field",
        Verb::Select => "list",
        Verb::Check | Verb::Uncheck => "box or switch",
        Verb::Upload => "file field",
        _ => "control",
    }
}

pub(super) fn not_found(
    observation: &Observation,
    query: &Query,
    pool: &[(NodeId, &Node, Fit)],
) -> Miss {
    let nearest = nearest(
        observation,
        query,
        pool,
        NodeId {
            generation: 0,
            document: u32::MAX,
            node: 0,
        },
    );
    let mut message = format!("no {} on this page", wanted(query));
    if !query.scope.within.is_empty() {
        message = format!(
            "no {} in {}",
            wanted(query),
            query
                .scope
                .within
                .iter()
                .map(target_words)
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    let mut help = Vec::new();
    if let By::Name {
        name: Some(name),
        role,
        ..
    } = &query.target.by
    {
        let name_folded = fold_case(name);
        help.extend(hint_help(pool, &name_folded));
        // Of another role than was asked for, or none that the verb is made for.
        let other = observation.nodes().find(|(id, n)| {
            let elsewhere = match role {
                Some(role) => n.role != *role,
                None => n.interactive && pool.iter().all(|(one, ..)| one != id),
            };
            n.reachable && elsewhere && fold_case(&n.name) == name_folded
        });
        if let Some((_, other)) = other {
            let called = describe(&other.role, &other.name);
            let way = match query.verb {
                Verb::Select if TEXT_FIELDS.contains(&other.role.as_str()) => {
                    "; fill it, then click what it suggests"
                }
                _ => "",
            };
            help.push(format!("{called} has that name{way}"));
        }
        help.extend(unnamed_help(observation, pool));
        help.extend(closed_menu_help(observation, query.verb, role.as_deref()));
        let plain = observation
            .documents
            .iter()
            .any(|d| contains_words(&words(&d.text), &words(name)));
        let controls = observation
            .nodes()
            .any(|(_, n)| n.interactive && fold_case(&n.name).contains(&name_folded));
        let named = observation
            .nodes()
            .any(|(_, n)| n.interactive && contains_words(&words(&n.name), &words(name)));
        let takes_words = !matches!(
            query.verb,
            Verb::Fill | Verb::Form | Verb::Select | Verb::Check | Verb::Uncheck | Verb::Upload
        );
        if plain && !controls && !named && takes_words {
            help.push(format!("the words stand on the page as plain text, with no control role; {{ text: \"{}\" }} names them", visible(name)));
        }
    }
    help.extend(observation.unread.iter().map(unread_words));
    Miss {
        kind: MissKind::NotFound,
        message,
        nearest,
        help: (!help.is_empty()).then(|| help.join("; ")),
    }
}

/// Title, placeholder, `name` attribute or inner tooltip equal the wanted name: say so.
fn hint_help(pool: &[(NodeId, &Node, Fit)], wanted: &str) -> Option<String> {
    pool.iter().find_map(|(_, node, _)| {
        let hint = node.hints.iter().find(|h| fold_case(&h.text) == wanted)?;
        let what = match hint.kind {
            HintKind::Title => "title",
            HintKind::Placeholder => "placeholder",
            HintKind::NameAttribute => "name attribute",
            HintKind::Tooltip => "inner tooltip",
            HintKind::Description => "description",
        };
        let called = if node.name.is_empty() {
            format!("a {} without an accessible name", node.role)
        } else {
            describe(&node.role, &node.name)
        };
        let way = match &node.test_id {
            Some(id) => format!("{{ testid: {id} }}"),
            None if node.name.is_empty() => {
                format!("{{ role: {} }} with `within` or `nth`", node.role)
            }
            None => describe(&node.role, &node.name),
        };
        Some(format!(
            "{called} has the {what} \"{}\", which is not its name; write {way}",
            hint.text
        ))
    })
}

fn unnamed_help(observation: &Observation, pool: &[(NodeId, &Node, Fit)]) -> Option<String> {
    let unnamed: Vec<String> = pool
        .iter()
        .filter(|(_, n, _)| n.interactive && n.reachable && n.name.is_empty())
        .map(|(id, n, _)| match place_of(observation, *id) {
            Some(place) => format!("{} in {place}", n.role),
            None => n.role.clone(),
        })
        .collect();
    match unnamed.as_slice() {
        [] => None,
        [one] => Some(format!("one {one} has no accessible name")),
        [first, ..] => Some(format!(
            "{} controls here have no accessible name ({first}, …)",
            unnamed.len()
        )),
    }
}

/// What is missing may wait in a menu that is closed or needs the pointer.
fn closed_menu_help(observation: &Observation, verb: Verb, role: Option<&str>) -> Option<String> {
    let in_menus = match role {
        Some(role) => role.starts_with("menuitem") || role == "menu",
        None => matches!(verb, Verb::Click | Verb::Check),
    };
    let opener = observation.nodes().map(|(_, n)| n).find(|n| {
        n.reachable
            && n.states.has_popup
            && n.states.expanded != Some(true)
            && !n.name.is_empty()
            && matches!(n.role.as_str(), "menuitem" | "button" | "link" | "tab")
    })?;
    in_menus.then(|| {
        format!(
            "{} opens a menu: `hover:` or `click:` it in a step before",
            describe(&opener.role, &opener.name)
        )
    })
}

pub(super) fn unread_words(unread: &Unread) -> String {
    match unread.kind {
        UnreadKind::ClosedShadowRoot => format!(
            "a closed shadow root at <{}> could not be read",
            unread.what
        ),
        UnreadKind::FrameNotAllowed => format!(
            "the frame {} is not on the list of hosts and was not read",
            unread.what
        ),
        UnreadKind::FrameTooDeep => {
            format!("the frame {} lies too deep and was not read", unread.what)
        }
        UnreadKind::FrameStillLoading => format!("the frame {} was still loading", unread.what),
        UnreadKind::TextCut => format!("the page's text was cut: {}", unread.what),
        UnreadKind::NodesCut => format!("the page's elements were cut: {}", unread.what),
    }
}

pub(super) fn ambiguous(_: &Observation, query: &Query, matches: &[Near]) -> Miss {
    let in_place = |place: &str| {
        let same = matches.iter().filter(|m| m.place.as_deref() == Some(place));
        same.count()
    };
    // A place that holds all of them, or two of them, narrows nothing.
    let narrows = matches
        .iter()
        .filter_map(|m| m.place.as_deref())
        .find(|place| matches.len() > 1 && in_place(place) == 1);
    let narrow = match narrows {
        Some(place) => format!("narrow it with `within: {place}` or `nth: 1`"),
        None => "narrow it with `nth: 1` (counts in document order)".to_owned(),
    };
    Miss {
        kind: MissKind::Ambiguous,
        message: format!("{} elements match {}", matches.len(), wanted(query)),
        nearest: matches.iter().take(SHOWN * 2).cloned().collect(),
        help: Some(narrow),
    }
}

pub(super) fn too_few(
    observation: &Observation,
    query: &Query,
    nth: usize,
    matches: Vec<NodeId>,
) -> Miss {
    Miss {
        kind: MissKind::NotFound,
        message: format!(
            "nth: {nth} was asked for, but {} match {}",
            matches.len(),
            wanted(query)
        ),
        nearest: matches
            .into_iter()
            .map(|id| near(observation, id, 1.0))
            .collect(),
        help: Some("`nth` counts from 1 in document order".into()),
    }
}

pub(super) fn only_near(_: &Observation, query: &Query, matches: &[Near]) -> Miss {
    let name = matches
        .first()
        .map(|m| describe(&m.role, &m.name))
        .unwrap_or_default();
    Miss {
        kind: MissKind::OnlyNear,
        message: format!(
            "only {name} comes near {}, and a near match never serves a step that writes",
            wanted(query)
        ),
        nearest: matches.to_vec(),
        help: Some(format!("write the whole name: {name}")),
    }
}

pub(super) fn behind_dialog(observation: &Observation, id: NodeId) -> Miss {
    let dialog = observation
        .nodes()
        .find(|(_, n)| n.states.modal && n.reachable)
        .map(|(_, n)| describe(&n.role, &n.name))
        .unwrap_or_else(|| "a modal dialog".to_owned());
    let node = near(observation, id, 1.0);
    Miss {
        kind: MissKind::BehindDialog,
        message: format!("{} is behind {dialog}", describe(&node.role, &node.name)),
        nearest: vec![node],
        help: Some("close the dialog first, in a step of its own".into()),
    }
}

pub(super) fn no_scope(observation: &Observation, target: &Target) -> Miss {
    let mut places: Vec<(usize, Near)> = observation
        .nodes()
        .filter(|(_, n)| tells_place(n) && !n.name.is_empty())
        .map(|(id, n)| {
            (
                overlap(&target_name(target), &n.name),
                near(observation, id, 0.0),
            )
        })
        .collect();
    places.sort_by_key(|(overlap, _)| std::cmp::Reverse(*overlap));
    Miss {
        kind: MissKind::NoScope,
        message: format!(
            "`within` names {}, which is not on this page",
            target_words(target)
        ),
        nearest: places.into_iter().map(|(_, n)| n).take(SHOWN).collect(),
        help: None,
    }
}

pub(super) fn not_to_be_sought(target: &Target) -> Miss {
    if let By::Css(css) = &target.by {
        return Miss::bad_selector(css);
    }
    Miss {
        kind: MissKind::NotFound,
        message: format!("{} was not looked for", target_words(target)),
        nearest: Vec::new(),
        help: None,
    }
}

fn target_name(target: &Target) -> String {
    match &target.by {
        By::Name { name, .. } => name.clone().unwrap_or_default(),
        By::Text(s) | By::TestId(s) | By::Css(s) => s.clone(),
    }
}

fn target_words(target: &Target) -> String {
    match &target.by {
        By::Name {
            role: Some(role),
            name,
            ..
        } => describe(role, name.as_deref().unwrap_or_default()),
        _ => format!("\"{}\"", target_name(target)),
    }
}

fn overlap(a: &str, b: &str) -> usize {
    let b = words(b);
    words(a).iter().filter(|w| b.contains(w)).count()
}

/// "Did you mean": fitting elements ranked by shared words, then by edit distance.
pub(super) fn nearest(
    observation: &Observation,
    query: &Query,
    pool: &[(NodeId, &Node, Fit)],
    but: NodeId,
) -> Vec<Near> {
    let wanted = target_name(query.target);
    if wanted.is_empty() {
        return Vec::new();
    }
    // A sentence names things loosely: what comes nearest is worth showing even if it is far.
    let least = if query.sentence { 0.05 } else { 0.3 };
    let mut ranked: Vec<(f64, NodeId)> = pool
        .iter()
        .filter(|(id, n, _)| *id != but && n.reachable && !n.name.is_empty())
        .map(|(id, n, fit)| (likeness(&wanted, &n.name) - fit.cost(), *id))
        .filter(|(score, _)| *score >= least)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked
        .into_iter()
        .take(SHOWN)
        .map(|(score, id)| near(observation, id, score))
        .collect()
}

/// Word overlap (0–0.69, never enough to be picked), or closeness of spelling where no word is shared.
pub(super) fn likeness(wanted: &str, name: &str) -> f64 {
    let (a, b) = (words(wanted), words(name));
    let shared = a.iter().filter(|w| b.contains(w)).count();
    let overlap = if shared == 0 {
        0.0
    } else {
        0.69 * 2.0 * shared as f64 / (a.len() + b.len()) as f64
    };
    let (x, y) = (fold_case(wanted), fold_case(name));
    let longest = x.chars().count().max(y.chars().count()).max(1);
    if longest > 60 {
        return overlap;
    }
    overlap.max(0.69 * (1.0 - distance(&x, &y) as f64 / longest as f64))
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut last = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = (last + usize::from(x != *y))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            last = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}
