//! Lists: native ones, and those a page draws (case 030, 038).

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::driver::{Actions, Key};
use crate::page::{self, NodeId, Tri, acts};
use crate::resolve::{self, Query};
use crate::scenario::{By, Scope, Target, Verb};
use crate::text::fold::{fold, fold_case};

use super::hands::{Fit, Prepared};
use super::session::Broker;
use super::types::{BrokerError, Primitive, Unfit};

/// Views a list of options is scrolled by, at most.
const OPTION_SCROLLS: u32 = 200;
/// Options of a list that is built after it was opened, unless the step says otherwise.
const OPTIONS_WITHIN: Duration = Duration::from_secs(5);
/// A list is scrolled when its options have not come by then,
const SCROLL_AFTER: Duration = Duration::from_millis(600);
/// and typed into when they have not by then.
const TYPE_AFTER: Duration = Duration::from_millis(1500);
/// A list that still moves is searched so much longer.
const MOVED_FOR: Duration = Duration::from_millis(1500);

impl Broker {
    // ---- lists -----------------------------------------------------------------------------

    pub(super) async fn select(&mut self, prepared: &Prepared, option: &str) -> Fit<Vec<String>> {
        if prepared.node.tag == "select" {
            return self.select_native(prepared, option).await;
        }
        self.select_drawn(prepared, option).await
    }

    async fn select_native(&mut self, prepared: &Prepared, option: &str) -> Fit<Vec<String>> {
        let options = &prepared.node.states.options;
        let at = match which(options, option) {
            Ok(at) => at,
            Err(unfit) => return Ok(Err(unfit)),
        };
        let answer =
            acts::select_options(&self.realm(), &prepared.context, prepared.id, &[at]).await?;
        if !answer.ok {
            return Ok(Err(match answer.reason.as_deref() {
                Some("disabled") => Unfit::NotOffered {
                    why: format!("its option \"{option}\" is disabled"),
                },
                other => Unfit::WrongKind {
                    why: format!(
                        "its option could not be chosen ({})",
                        other.unwrap_or("no reason")
                    ),
                },
            }));
        }
        Ok(Ok(Vec::new()))
    }

    /// A combobox, listbox or radio group the page draws: open, find the option, click, read back.
    async fn select_drawn(&mut self, prepared: &Prepared, option: &str) -> Fit<Vec<String>> {
        let opens = !matches!(
            prepared.node.role.as_str(),
            "listbox" | "radiogroup" | "group" | "menu" | "tree" | "tablist"
        );
        let within = if opens { None } else { Some(prepared.id) };
        let name = prepared.node.name.clone();
        let role = prepared.node.role.clone();
        if opens && prepared.node.states.expanded != Some(true) {
            self.click(prepared).await?.ok();
        }
        let before = self
            .last
            .as_deref()
            .map_or(0, |page| standing(page, option));
        let opened = Instant::now();
        let within_time = self.step_time(OPTIONS_WITHIN);
        let mut until = opened + within_time;
        let mut typed = false;
        let mut scrolled = 0;
        let picked = loop {
            // A read makes older ids stale: the list is found again by role and name.
            let observation = self.look().await?;
            let list = within.and_then(|_| {
                observation
                    .nodes()
                    .find(|(_, n)| n.role == role && n.name == name)
                    .map(|(id, _)| id)
            });
            match option_in(&observation, option, list) {
                Ok(id) => break id,
                Err(why) if Instant::now() >= until => {
                    if opens {
                        let context = self.tab.id().to_owned();
                        self.act(&context, Actions::chord(&[Key::Escape])).await?;
                    }
                    return Ok(Err(Unfit::NotOffered { why }));
                }
                Err(_) => {
                    // Lists that filter as one types show their options only then.
                    if opens
                        && !typed
                        && opened.elapsed() >= TYPE_AFTER.min(within_time / 2)
                        && matches!(prepared.node.tag.as_str(), "input" | "textarea")
                    {
                        typed = true;
                        if let Some((id, _)) = observation
                            .nodes()
                            .find(|(_, n)| n.role == role && n.name == name)
                        {
                            let field = Prepared {
                                id,
                                context: prepared.context.clone(),
                                point: prepared.point,
                                node: prepared.node.clone(),
                            };
                            self.type_over(&field, option, None).await?;
                        }
                    }
                    // Long lists draw their options as they are scrolled.
                    if opened.elapsed() >= SCROLL_AFTER
                        && scrolled < OPTION_SCROLLS
                        && self.scroll_options(&observation, scrolled == 0).await?
                    {
                        scrolled += 1;
                        until = until.max(Instant::now() + MOVED_FOR);
                        continue;
                    }
                    sleep(Duration::from_millis(40)).await;
                }
            }
        };
        match self.prepare(picked, &Primitive::Click).await? {
            Ok(ready) => {
                self.click(&ready).await?.ok();
            }
            Err(unfit) => return Ok(Err(unfit)),
        }
        self.shown(&role, &name, option, before).await
    }

    /// Scrolls the box that holds the options, from its start, by most of a view; did it move?
    async fn scroll_options(
        &mut self,
        observation: &crate::page::Observation,
        from_start: bool,
    ) -> Result<bool, BrokerError> {
        let Some((id, _)) = observation
            .nodes()
            .filter(|(_, n)| n.role == "option" && n.tag != "option" && n.reachable)
            .last()
        else {
            return Ok(false);
        };
        let context = self.document_of(id)?;
        let place = json!([id.generation, id.node]);
        let step = |dy: i32| {
            [
                place[0].clone(),
                place[1].clone(),
                super::places::share(0),
                super::places::share(dy),
            ]
        };
        let mut moved = false;
        if from_start {
            let answer =
                page::call(&self.realm(), &context, "scrollView", &step(i32::MIN), None).await?;
            moved = answer["value"].as_bool() == Some(true);
        }
        if !moved {
            let answer = page::call(&self.realm(), &context, "scrollView", &step(1), None).await?;
            moved = answer["value"].as_bool() == Some(true);
        }
        if moved {
            page::call(&self.realm(), &context, "twoFrames", &[], None).await?;
        }
        Ok(moved)
    }

    /// The choice must show: as the list's value or text, or as the option's state.
    async fn shown(
        &mut self,
        role: &str,
        name: &str,
        option: &str,
        before: usize,
    ) -> Fit<Vec<String>> {
        let until = Instant::now() + Duration::from_millis(1500);
        loop {
            let observation = self.look().await?;
            let list = observation
                .nodes()
                .find(|(_, n)| n.role == role && n.name == name);
            let as_value = list.is_some_and(|(_, n)| {
                n.states
                    .value
                    .as_deref()
                    .is_some_and(|v| fold(v).contains(&fold(option)))
            });
            let as_text =
                list.is_some_and(|(id, _)| fold(observation.text_of(id)).contains(&fold(option)));
            let as_state = observation.nodes().any(|(_, n)| {
                fold(&n.name) == fold(option)
                    && (n.states.selected == Some(true) || n.states.checked == Some(Tri::True))
            });
            // A control whose name is its value is renamed by the choice.
            let renamed = observation
                .nodes()
                .any(|(_, n)| n.role == role && fold(&n.name).contains(&fold(option)));
            // Some show it beside the field they empty.
            let beside = standing(&observation, option) > before
                && option_in(&observation, option, None).is_err();
            if as_value || as_text || as_state || renamed || beside {
                return Ok(Ok(Vec::new()));
            }
            if Instant::now() >= until {
                if list.is_none() {
                    return Ok(Ok(vec![
                        "the list went away with the choice; it was not read back".into(),
                    ]));
                }
                return Ok(Err(Unfit::WrongKind {
                    why: format!("\"{option}\" was chosen, but it does not show"),
                }));
            }
            sleep(Duration::from_millis(40)).await;
        }
    }
}

/// Lines of the page that are just this.
fn standing(page: &crate::page::Observation, option: &str) -> usize {
    let lines = page.documents.iter().flat_map(|d| d.text.lines());
    lines.filter(|line| fold(line) == fold(option)).count()
}

/// The one option of that name: exact, then but for case; two are no choice.
fn which(options: &[String], wanted: &str) -> Result<usize, Unfit> {
    for same in [
        |a: &str, b: &str| fold(a) == fold(b),
        |a: &str, b: &str| fold_case(a) == fold_case(b),
    ] {
        let hits: Vec<usize> = options
            .iter()
            .enumerate()
            .filter(|(_, o)| same(o, wanted))
            .map(|(i, _)| i)
            .collect();
        match hits.len() {
            0 => {}
            1 => return Ok(hits[0]),
            n => {
                return Err(Unfit::WrongKind {
                    why: format!("{n} of its options are called \"{wanted}\""),
                });
            }
        }
    }
    let known: Vec<String> = options
        .iter()
        .take(8)
        .map(|o| format!("\"{}\"", crate::text::visible(o)))
        .collect();
    Err(Unfit::NotOffered {
        why: format!(
            "it has no option \"{wanted}\"; it has {}",
            if known.is_empty() {
                "none".into()
            } else {
                known.join(", ")
            }
        ),
    })
}

fn option_in(
    observation: &crate::page::Observation,
    option: &str,
    list: Option<NodeId>,
) -> Result<NodeId, String> {
    for role in [
        "option",
        "radio",
        "menuitemradio",
        "treeitem",
        "menuitem",
        "tab",
    ] {
        let target = Target {
            by: By::Name {
                role: Some(role.into()),
                name: Some(option.into()),
                exact: false,
            },
            span: Default::default(),
        };
        let scope = Scope::default();
        let query = Query {
            target: &target,
            verb: Verb::Click,
            scope: &scope,
            near: false,
            sentence: false,
        };
        match resolve::resolve(observation, &query) {
            Ok(pick)
                if list.is_none_or(|l| observation.ancestors(pick.id).any(|(a, _)| a == l)) =>
            {
                return Ok(pick.id);
            }
            Err(miss) if miss.kind == resolve::MissKind::Ambiguous => {
                // Among several, those of the list that was meant.
                let inside: Vec<NodeId> = miss
                    .nearest
                    .iter()
                    .map(|n| n.id)
                    .filter(|id| {
                        list.is_some_and(|l| observation.ancestors(*id).any(|(a, _)| a == l))
                    })
                    .collect();
                return match inside.as_slice() {
                    [only] => Ok(*only),
                    _ => Err(miss.message),
                };
            }
            _ => {}
        }
    }
    let offered: Vec<String> = observation
        .nodes()
        .filter(|(_, n)| n.role == "option")
        .take(8)
        .map(|(_, n)| format!("\"{}\"", n.name))
        .collect();
    Err(format!(
        "no option \"{option}\" came up{}",
        if offered.is_empty() {
            String::new()
        } else {
            format!("; there are {}", offered.join(", "))
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_chosen_by_its_whole_name() {
        let options = [
            "Salt".to_owned(),
            "Sea salt".to_owned(),
            "salt ".to_owned() + "x",
        ];
        assert_eq!(which(&options, "Salt"), Ok(0));
        assert_eq!(which(&options, "SALT"), Ok(0));
        assert!(
            which(&options, "Sal")
                .unwrap_err()
                .message()
                .contains("\"Sea salt\"")
        );
        assert!(
            which(&["A".into(), "A".into()], "A")
                .unwrap_err()
                .message()
                .contains("2 of its options")
        );
    }
}
