//! The ladder: exact, folded, near; scope, role and ordinal on the way.

use crate::page::{Node, NodeId, Observation};
use crate::scenario::{By, Scope, Target, Verb};
use crate::text::fold::{fold, fold_case, undecorate, words};

use super::explain::{self, place_of};
use super::fit::{Fit, fits, role_matches};
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
    /// Rows, items and the like seldom have a name of their own: the whole text they hold.
    Content,
    /// The only one of them whose text holds the words.
    ContentWords,
    Other(Chooser),
}

impl Rung {
    fn chooser(self) -> Chooser {
        match self {
            Self::Exact => Chooser::Exact,
            Self::Folded => Chooser::Folded,
            Self::Plain | Self::Words | Self::ContentWords => Chooser::Near,
            Self::Content => Chooser::Text,
            Self::Other(chooser) => chooser,
        }
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
        let hits: Vec<Match> = pool
            .iter()
            .filter(|(id, node, _)| holds(observation, query.target, *id, node, rung))
            .map(|(id, _, fit)| Match {
                id: *id,
                rung,
                fit: *fit,
            })
            .collect();
        let hits = match rung {
            Rung::Content | Rung::ContentWords => {
                let inner = innermost(observation, ids(&hits));
                hits.into_iter().filter(|m| inner.contains(&m.id)).collect()
            }
            _ => hits,
        };
        let (reachable, hidden): (Vec<_>, Vec<_>) = hits
            .into_iter()
            .partition(|m| observation.node(m.id).is_some_and(|n| n.reachable));
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
    pick(observation, query, matches, offered, &pool)
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

/// Roles that hold things and take no name from what they hold (WAI-ARIA 1.2 "Name From: author").
fn named_by_content(role: &str) -> bool {
    matches!(
        role,
        "listitem"
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

fn holds(observation: &Observation, target: &Target, id: NodeId, node: &Node, rung: Rung) -> bool {
    match (&target.by, rung) {
        (By::Name { name: None, .. }, rung) => rung == Rung::Exact,
        (
            By::Name {
                name: Some(name), ..
            },
            Rung::Content,
        ) => node.name.is_empty() && fold(observation.text_of(id)) == fold(name),
        (
            By::Name {
                name: Some(name), ..
            },
            Rung::ContentWords,
        ) => node.name.is_empty() && contains_words(&words(observation.text_of(id)), &words(name)),
        (
            By::Name {
                name: Some(name), ..
            },
            rung,
        ) => name_holds(name, &node.name, rung),
        (By::TestId(id), _) => node.test_id.as_deref() == Some(id.as_str()),
        (By::Text(text), _) => fold(&node.name) == fold(text),
        // CSS is asked in the page; the broker adds what it answers as picks of its own.
        (By::Css(_), _) => false,
    }
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
        Rung::Content | Rung::ContentWords | Rung::Other(_) => false,
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
    let mut tied = outermost_twins_removed(observation, tied);
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
    for rung in rungs(&query)
        .into_iter()
        .filter(|r| r.chooser() != Chooser::Near)
    {
        let hits: Vec<NodeId> = pool
            .iter()
            .filter(|(id, n, _)| holds(observation, target, *id, n, rung))
            .map(|(id, ..)| *id)
            .collect();
        if !hits.is_empty() {
            return Ok(hits);
        }
    }
    Ok(Vec::new())
}

// ---- scopes --------------------------------------------------------------------------------

/// The elements each `within` may mean. Their order doesn't matter: a candidate lies in all.
pub fn scopes(observation: &Observation, within: &[Target]) -> Result<Vec<Vec<NodeId>>, Miss> {
    within
        .iter()
        .map(|target| {
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
        By::TestId(id) => {
            return observation
                .nodes()
                .filter(|(_, n)| n.test_id.as_deref() == Some(id))
                .map(|(id, _)| id)
                .collect();
        }
        By::Text(text) => (None, Some(text.as_str())),
        By::Css(_) => return Vec::new(),
    };
    let places: Vec<(NodeId, &Node)> = observation
        .nodes()
        .filter(|(_, n)| match role {
            Some(role) => role_matches(role, n),
            None => explain::is_place(n) || matches!(n.tag.as_str(), "iframe" | "frame"),
        })
        .collect();
    let Some(name) = name else {
        return places.into_iter().map(|(id, _)| id).collect();
    };
    for rung in [Rung::Exact, Rung::Folded, Rung::Plain] {
        let hits: Vec<NodeId> = places
            .iter()
            .filter(|(_, n)| name_holds(name, &n.name, rung))
            .map(|(id, _)| *id)
            .collect();
        if !hits.is_empty() {
            return hits;
        }
    }
    // A heading inside names its region or dialog; a cell or any words name a row or item.
    let by_heading: Vec<NodeId> = places
        .iter()
        .filter(|(id, _)| {
            observation.nodes().any(|(h, n)| {
                n.role == "heading"
                    && fold_case(&n.name) == fold_case(name)
                    && observation
                        .ancestors(h)
                        .find(|(_, a)| explain::is_place(a))
                        .is_some_and(|(a, _)| a == *id)
            })
        })
        .map(|(id, _)| *id)
        .collect();
    if !by_heading.is_empty() {
        return by_heading;
    }
    let wanted = words(name);
    let by_words: Vec<NodeId> = places
        .iter()
        .filter(|(id, n)| {
            (matches!(
                n.role.as_str(),
                "row"
                    | "listitem"
                    | "article"
                    | "option"
                    | "treeitem"
                    | "group"
                    | "cell"
                    | "gridcell"
            ) || role.is_some())
                && n.role != "document"
                && contains_words(&words(observation.text_of(*id)), &wanted)
        })
        .map(|(id, _)| *id)
        .collect();
    if by_words.is_empty()
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
    innermost(observation, by_words)
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
