//! Judging `expect` lines against an observation: holds or not, and what was seen instead.

use serde_json::Value;

use crate::page::{Node, NodeId, Observation, Tri};
use crate::policy::Glob;
use crate::scenario::{By, DataExpect, ElementExpect, ExpectLine, Expectation, Target, Verb};
use crate::text::fold::{fold, undecorate, words};
use crate::text::{cut, visible};

use super::explain::{describe, likeness};
use super::{find_all, text_within};

/// Names of finished downloads of the scenario so far.
pub type Downloads<'a> = &'a [String];

/// One line's verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub holds: bool,
    /// One line for people.
    pub saw: String,
    /// Rests on a live region (status, alert, log), which pages like to take back: the second look
    /// waits longer.
    pub live: bool,
}

pub fn check_all(
    lines: &[Expectation],
    observation: &Observation,
    data: &Value,
    downloads: Downloads,
) -> Vec<Checked> {
    lines
        .iter()
        .map(|line| check(line, observation, data, downloads))
        .collect()
}

pub fn check(
    line: &Expectation,
    observation: &Observation,
    data: &Value,
    downloads: Downloads,
) -> Checked {
    let places = match places(observation, &line.within) {
        Ok(places) => places,
        Err(why) => return fails(why),
    };
    match &line.line {
        ExpectLine::Url(glob) => by_glob(glob, &observation.url, "address"),
        ExpectLine::Title(glob) => {
            let title = fold(&observation.title);
            let glob = Glob::new(glob);
            Checked {
                holds: glob.matches(&title),
                saw: format!("the title is \"{}\"", visible(&title)),
                live: false,
            }
        }
        ExpectLine::See(text) => see(text, observation, &places),
        ExpectLine::NotSee(text) => {
            let found = see(text, observation, &places);
            if found.holds {
                Checked {
                    holds: false,
                    saw: format!("\"{}\" is on the page", visible(text)),
                    live: found.live,
                }
            } else {
                Checked {
                    holds: true,
                    saw: format!("\"{}\" is not on the page", visible(text)),
                    live: found.live,
                }
            }
        }
        ExpectLine::Element(wanted) => element(wanted, observation, line),
        ExpectLine::NoElement(wanted) => no_element(wanted, observation, line),
        ExpectLine::Data(checks) => data_holds(checks, data),
        ExpectLine::Download(glob) => download(glob, downloads),
    }
}

fn fails(saw: impl Into<String>) -> Checked {
    Checked {
        holds: false,
        saw: saw.into(),
        live: false,
    }
}

/// Where text counts: nowhere in particular without `within` (the whole page); with several, the
/// innermost ones inside all others.
fn places(observation: &Observation, within: &[Target]) -> Result<Vec<NodeId>, String> {
    let scopes = super::find::scopes(observation, within).map_err(|miss| miss.message)?;
    let Some(_) = scopes.last() else {
        return Ok(Vec::new());
    };
    let all: Vec<NodeId> = scopes.iter().flatten().copied().collect();
    let inner: Vec<NodeId> = all
        .into_iter()
        .filter(|id| super::find::inside_all(observation, *id, &scopes))
        .collect();
    match inner.is_empty() {
        true => Err("no place lies in all of the scopes named".into()),
        false => Ok(inner),
    }
}

/// Whether a whole line of the page's text is this name, but for decoration ("Loading…" is "Loading",
/// "Loading dock" is not).
pub fn shows_line(observation: &Observation, name: &str, within: &[Target]) -> bool {
    let (wanted, bare) = (fold(name), undecorate(name));
    let Ok(places) = places(observation, within) else {
        return false;
    };
    text_within(observation, &places)
        .iter()
        .flat_map(|text| text.lines())
        .any(|line| fold(line) == wanted || !bare.is_empty() && undecorate(line) == bare)
}

fn by_glob(glob: &str, address: &str, what: &str) -> Checked {
    let holds = url::Url::parse(address).is_ok_and(|url| Glob::for_url(glob).matches_url(&url));
    Checked {
        holds,
        saw: format!("the {what} is {}", crate::page::shown_address(address)),
        live: false,
    }
}

fn see(text: &str, observation: &Observation, places: &[NodeId]) -> Checked {
    let wanted = fold(text);
    let holds = text_within(observation, places)
        .iter()
        .any(|t| fold(t).contains(&wanted));
    if holds {
        return Checked {
            holds,
            saw: format!("\"{}\" is on the page", visible(text)),
            live: only_live(observation, &wanted, places),
        };
    }
    let nearest = nearest_line(text, observation, places);
    let status = observation
        .nodes()
        .filter(|(_, n)| matches!(n.role.as_str(), "status" | "alert"))
        .map(|(id, n)| (n.role.clone(), fold(observation.text_of(id))))
        .find(|(_, text)| !text.is_empty());
    let mut saw = format!("\"{}\" is not on the page", visible(text));
    if let Some(line) = nearest {
        saw.push_str(&format!("; nearest is \"{}\"", visible(&cut(&line, 120))));
    }
    if let Some((role, text)) = status {
        saw.push_str(&format!("; {role}: \"{}\"", visible(&cut(&text, 120))));
    }
    fails(saw)
}

/// The text stands nowhere but in live regions.
fn only_live(observation: &Observation, wanted: &str, places: &[NodeId]) -> bool {
    let live: Vec<(NodeId, &Node)> = observation
        .nodes()
        .filter(|(_, n)| n.states.live || matches!(n.role.as_str(), "status" | "alert" | "log"))
        .collect();
    let in_live = live
        .iter()
        .filter(|(id, _)| fold(observation.text_of(*id)).contains(wanted))
        .count();
    let everywhere: usize = text_within(observation, places)
        .iter()
        .map(|t| fold(t).matches(wanted).count())
        .sum();
    in_live > 0 && everywhere <= in_live
}

/// The line of the page that shares most words with the wanted text.
fn nearest_line(text: &str, observation: &Observation, places: &[NodeId]) -> Option<String> {
    let wanted = words(text);
    text_within(observation, places)
        .iter()
        .flat_map(|t| t.lines())
        .filter(|l| l.len() < 400 && words(l).iter().any(|w| wanted.contains(w)))
        .max_by(|a, b| likeness(text, a).total_cmp(&likeness(text, b)))
        .map(str::to_owned)
}

/// Elements that answer to the target, then those whose states hold too.
fn element(wanted: &ElementExpect, observation: &Observation, line: &Expectation) -> Checked {
    let found = match find_all(
        observation,
        &wanted.target,
        Verb::Expect,
        &line.within,
        wanted.contains,
    ) {
        Ok(found) => found,
        Err(miss) => return fails(miss.message),
    };
    let says = target_says(wanted);
    if let Some(count) = wanted.count {
        return Checked {
            holds: found.len() == count,
            saw: format!("{} × {says}", found.len()),
            live: false,
        };
    }
    let considered: Vec<NodeId> = match wanted.nth {
        Some(nth) => found
            .get(nth.saturating_sub(1))
            .copied()
            .into_iter()
            .collect(),
        None => found,
    };
    if considered.is_empty() {
        return fails(not_there(wanted, observation));
    }
    let mut first_problem = None;
    for id in &considered {
        let Some(node) = observation.node(*id) else {
            continue;
        };
        match state_problem(wanted, node) {
            None => {
                let live = observation
                    .ancestors(*id)
                    .map(|(_, n)| n)
                    .chain([node])
                    .any(|n| n.states.live || matches!(n.role.as_str(), "status" | "alert"));
                return Checked {
                    holds: true,
                    saw: format!("{} is there", describe(&node.role, &node.name)),
                    live,
                };
            }
            Some(problem) => {
                first_problem.get_or_insert(format!(
                    "{} is there, but {problem}",
                    describe(&node.role, &node.name)
                ));
            }
        }
    }
    fails(first_problem.unwrap_or_else(|| format!("no {says}")))
}

fn no_element(wanted: &ElementExpect, observation: &Observation, line: &Expectation) -> Checked {
    let found = match find_all(
        observation,
        &wanted.target,
        Verb::Expect,
        &line.within,
        wanted.contains,
    ) {
        Ok(found) => found,
        Err(miss) => return fails(miss.message),
    };
    let with_states = found
        .into_iter()
        .filter_map(|id| observation.node(id))
        .find(|n| state_problem(wanted, n).is_none());
    match with_states {
        Some(node) => fails(format!("{} is there", describe(&node.role, &node.name))),
        None => Checked {
            holds: true,
            saw: format!("no {}", target_says(wanted)),
            live: false,
        },
    }
}

fn target_says(wanted: &ElementExpect) -> String {
    match &wanted.target.by {
        By::Name { role, name, .. } => describe(
            role.as_deref().unwrap_or("element"),
            name.as_deref().unwrap_or_default(),
        ),
        By::Text(text) => format!("text \"{text}\""),
        By::TestId(id) => format!("element with test id \"{id}\""),
        By::Css(css) => format!("element matching {css}"),
    }
}

fn not_there(wanted: &ElementExpect, observation: &Observation) -> String {
    let By::Name {
        role,
        name: Some(name),
        ..
    } = &wanted.target.by
    else {
        return format!("no {}", target_says(wanted));
    };
    let nearest = observation
        .nodes()
        .filter(|(_, n)| {
            !n.name.is_empty() && role.as_ref().is_none_or(|r| super::role_matches(r, n))
        })
        .map(|(_, n)| (likeness(name, &n.name), n))
        .filter(|(score, _)| *score > 0.25)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, node)) => format!(
            "no {}; nearest is {}",
            target_says(wanted),
            describe(&node.role, &node.name)
        ),
        None => format!("no {}", target_says(wanted)),
    }
}

fn state_problem(wanted: &ElementExpect, node: &Node) -> Option<String> {
    if let Some(value) = &wanted.value {
        match &node.states.value {
            None => return Some("its value can't be read".into()),
            Some(seen) if fold(seen) != fold(value) => {
                return Some(format!("its value is \"{}\"", visible(seen)));
            }
            Some(_) => {}
        }
    }
    let tri = |wanted: Option<bool>, seen: Option<Tri>, word: &str| -> Option<String> {
        let wanted = wanted?;
        let is = seen == Some(Tri::True);
        (is != wanted || seen == Some(Tri::Mixed)).then(|| match seen {
            Some(Tri::Mixed) => format!("it is partly {word}"),
            _ => format!("it is {}{word}", if is { "" } else { "not " }),
        })
    };
    let flag = |wanted: Option<bool>, seen: bool, word: &str| -> Option<String> {
        (wanted? != seen).then(|| format!("it is {}{word}", if seen { "" } else { "not " }))
    };
    tri(wanted.checked, node.states.checked, "checked")
        .or_else(|| tri(wanted.pressed, node.states.pressed, "pressed"))
        .or_else(|| flag(wanted.disabled, node.states.disabled, "disabled"))
        .or_else(|| {
            flag(
                wanted.expanded,
                node.states.expanded == Some(true),
                "expanded",
            )
        })
        .or_else(|| {
            flag(
                wanted.selected,
                node.states.selected == Some(true),
                "selected",
            )
        })
}

fn download(glob: &str, downloads: Downloads) -> Checked {
    let glob = Glob::new(glob);
    match downloads.iter().find(|name| glob.matches(name)) {
        Some(name) => Checked {
            holds: true,
            saw: format!("{name} was downloaded"),
            live: false,
        },
        None if downloads.is_empty() => fails("nothing was downloaded"),
        None => fails(format!("downloaded: {}", downloads.join(", "))),
    }
}

fn data_holds(checks: &[(String, DataExpect)], data: &Value) -> Checked {
    let mut seen = Vec::new();
    let mut holds = true;
    for (path, wanted) in checks {
        let value = at(data, path);
        let (ok, words) = match (value, wanted) {
            (None, _) => (false, format!("{path} is not in the data")),
            (Some(Value::Array(items)), DataExpect::Count(n)) => (
                items.len() == *n,
                format!("{path} has {} items", items.len()),
            ),
            (Some(_), DataExpect::Count(_)) => (false, format!("{path} is no list")),
            (Some(value), DataExpect::Is(text)) => {
                let shown = scalar(value);
                (
                    fold(&shown) == fold(text),
                    format!("{path} is \"{}\"", visible(&cut(&shown, 120))),
                )
            }
        };
        holds &= ok;
        if !ok || checks.len() == 1 {
            seen.push(words);
        }
    }
    Checked {
        holds,
        saw: if seen.is_empty() {
            "the data holds".into()
        } else {
            seen.join("; ")
        },
        live: false,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// `orders[0].id` in the extracted data.
fn at<'a>(data: &'a Value, path: &str) -> Option<&'a Value> {
    data_paths(path)
        .into_iter()
        .try_fold(data, |value, part| match part {
            DataPart::Key(key) => value.get(key),
            DataPart::Index(n) => value.get(n),
        })
}

pub enum DataPart<'a> {
    Key(&'a str),
    Index(usize),
}

/// Splits `orders[0].id` into its parts.
pub fn data_paths(path: &str) -> Vec<DataPart<'_>> {
    path.split('.')
        .flat_map(|piece| {
            let mut parts = Vec::new();
            let (name, rest) = piece.split_once('[').unwrap_or((piece, ""));
            if !name.is_empty() {
                parts.push(DataPart::Key(name));
            }
            for index in rest.split('[').filter_map(|p| p.strip_suffix(']')) {
                parts.push(index.parse().map_or(DataPart::Key(index), DataPart::Index));
            }
            parts
        })
        .collect()
}
