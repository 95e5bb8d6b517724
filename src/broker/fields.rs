//! Setting values, and reading back what was set (case 028–030, 044, 049).

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::driver::{Actions, Key};
use crate::page::{self, acts};
use crate::page::{Node, NodeId, Tri};
use crate::resolve::{self, Query};
use crate::scenario::{By, Scope, Target, Verb};
use crate::text::fold::{fold, fold_case};

use super::hands::{Fit, Prepared};
use super::session::{Broker, DOCUMENT_IDLE_MS};
use super::types::{BrokerError, Primitive, Unfit};

/// A field that was filled is given so long to show that its page wipes or rewrites it.
const STEADY: Duration = Duration::from_millis(60);
/// Views a list of options is scrolled by, at most.
const OPTION_SCROLLS: u32 = 200;
/// Keys a slider may take to its number.
const SLIDER_STEPS: u32 = 400;
/// Options of a list that is built after it was opened.
const OPTIONS_WITHIN: Duration = Duration::from_secs(3);

impl Broker {
    /// Sets a text, number, date or rich text control.
    pub(super) async fn fill(&mut self, prepared: &Prepared, text: &str) -> Fit<Vec<String>> {
        if prepared.node.states.read_only {
            return Ok(Err(Unfit::ReadOnly {
                why: read_only_words(&prepared.node).into(),
            }));
        }
        if set_directly(&prepared.node) {
            return self.set(prepared, text).await;
        }
        if prepared.node.tag == "select" {
            return Ok(Err(Unfit::WrongKind {
                why: "it is a list; use `select: <option>` with `in:`".into(),
            }));
        }
        if prepared.node.role == "slider" {
            return self.slide(prepared, text).await;
        }
        self.type_over(prepared, text).await?;
        let mut notes = Vec::new();
        let mut seen = self.steady_value(prepared).await?;
        if !same(seen.as_deref(), text) {
            // The page's own start-up wiped it, or a framework put its old value back: once more.
            self.type_over(prepared, text).await?;
            seen = self.steady_value(prepared).await?;
            if same(seen.as_deref(), text) {
                notes.push("typed again: the page had wiped or changed the first try".into());
            }
        }
        let after = acts::leave(&self.realm(), &prepared.context, prepared.id)
            .await?
            .value;
        let seen = after.or(seen);
        if seen.is_none() || same(seen.as_deref(), text) {
            return Ok(Ok(notes));
        }
        let seen = seen.unwrap_or_default();
        if formatted(&seen, text) {
            notes.push(format!(
                "the page shows it as \"{}\"",
                crate::text::visible(&seen)
            ));
            return Ok(Ok(notes));
        }
        Ok(Err(Unfit::WrongKind {
            why: format!(
                "it was filled, but shows \"{}\" afterwards",
                crate::text::visible(&self.scrubber.clean(&seen))
            ),
        }))
    }

    /// Focus, select all, delete, type: what a person does, so that frameworks notice.
    pub(super) async fn type_over(
        &mut self,
        prepared: &Prepared,
        text: &str,
    ) -> Result<(), BrokerError> {
        if !acts::enter(&self.realm(), &prepared.context, prepared.id).await? {
            // Rich editors put the focus where they want it on a click.
            self.click(prepared).await?.ok();
            acts::select_text(&self.realm(), &prepared.context, prepared.id).await?;
        }
        let actions = Actions::type_over(text, is_rich(&prepared.node))
            .map_err(|e| BrokerError::Other(e.to_string()))?;
        self.act(&prepared.context, actions).await
    }

    /// Date, time, color and range take no typing (keys go into their parts): set and tell the page.
    async fn set(&mut self, prepared: &Prepared, text: &str) -> Fit<Vec<String>> {
        let answer = acts::set_value(&self.realm(), &prepared.context, prepared.id, text).await?;
        match answer.value {
            Some(value) if answer.ok && same(Some(&value), text) => Ok(Ok(Vec::new())),
            Some(value) if answer.ok && value.is_empty() => Ok(Err(Unfit::WrongKind {
                why: format!("it did not take \"{text}\"; {}", shape_of(&prepared.node)),
            })),
            Some(value) if answer.ok => {
                if prepared.node.input_type.as_deref() == Some("range")
                    || fold_case(&value) == fold_case(text)
                {
                    Ok(Ok(vec![format!("the page made it \"{value}\"")]))
                } else {
                    Ok(Err(Unfit::WrongKind {
                        why: format!("it shows \"{value}\" instead"),
                    }))
                }
            }
            _ => Ok(Err(Unfit::WrongKind {
                why: "its value can't be set".into(),
            })),
        }
    }

    /// A drawn slider moves by arrow keys, one step each, until it shows the number.
    async fn slide(&mut self, prepared: &Prepared, text: &str) -> Fit<Vec<String>> {
        let Ok(wanted) = text.trim().parse::<f64>() else {
            return Ok(Err(Unfit::WrongKind {
                why: format!("a slider takes a number, not \"{text}\""),
            }));
        };
        acts::focus(&self.realm(), &prepared.context, prepared.id).await?;
        let number = |value: Option<String>| value.and_then(|v| v.trim().parse::<f64>().ok());
        let mut at = number(self.read_value(prepared).await?);
        for _ in 0..SLIDER_STEPS {
            let Some(now) = at else { break };
            if (now - wanted).abs() < f64::EPSILON {
                return Ok(Ok(Vec::new()));
            }
            let key = if now < wanted {
                "ArrowRight"
            } else {
                "ArrowLeft"
            };
            let Some(key) = Key::by_name(key) else { break };
            self.act(&prepared.context, Actions::chord(&[key])).await?;
            let next = number(self.read_value(prepared).await?);
            // At its end, deaf to keys, or with steps that pass the number by.
            if next == at
                || next.is_some_and(|next| (next < wanted) != (now < wanted) && next != wanted)
            {
                at = next;
                break;
            }
            at = next;
        }
        Ok(Err(Unfit::WrongKind {
            why: match at {
                Some(at) => format!("its arrow keys bring it to {at}, not to {wanted}"),
                None => "it shows no number".into(),
            },
        }))
    }

    /// The field's value once it has held still for a moment.
    async fn steady_value(&mut self, prepared: &Prepared) -> Result<Option<String>, BrokerError> {
        let first = acts::read_back(&self.realm(), &prepared.context, prepared.id).await?;
        let mut before = first.value;
        // Only a page that still works on itself can wipe a field: a quiet one is believed at once.
        if self.network_is_quiet() && first.quiet.is_some_and(|ms| ms >= DOCUMENT_IDLE_MS) {
            return Ok(before);
        }
        let until = Instant::now() + Duration::from_millis(600);
        loop {
            sleep(STEADY).await;
            let now = self.read_value(prepared).await?;
            if now == before && (self.is_quiet().await || Instant::now() >= until) {
                return Ok(now);
            }
            before = now;
            if Instant::now() >= until {
                return Ok(before);
            }
        }
    }

    async fn read_value(&mut self, prepared: &Prepared) -> Result<Option<String>, BrokerError> {
        Ok(
            acts::read_back(&self.realm(), &prepared.context, prepared.id)
                .await?
                .value,
        )
    }

    // ---- boxes and switches ----------------------------------------------------------------

    pub(super) async fn check(&mut self, prepared: &Prepared, on: bool) -> Fit<Vec<String>> {
        let wanted = if on { Tri::True } else { Tri::False };
        let state = match prepared.point.checked {
            None => acts::checked(&self.realm(), &prepared.context, prepared.id).await?,
            known => known,
        };
        if state.is_none() {
            return Ok(Err(Unfit::WrongKind {
                why: "it has no checked state".into(),
            }));
        }
        if state == Some(wanted) {
            return Ok(Ok(vec![format!(
                "it was {} already",
                if on { "checked" } else { "unchecked" }
            )]));
        }
        self.click(prepared).await?.ok();
        let mut until = Instant::now() + Duration::from_millis(1000);
        // A mixed box becomes checked before it becomes unchecked.
        let mut again = state == Some(Tri::Mixed);
        loop {
            match acts::checked(&self.realm(), &prepared.context, prepared.id).await {
                Ok(Some(now)) if now == wanted => return Ok(Ok(Vec::new())),
                Ok(Some(now)) if again && Some(now) != state => {
                    again = false;
                    self.click(prepared).await?.ok();
                    until = Instant::now() + Duration::from_millis(1000);
                }
                // Its document went away with the click: the page answered, `expect` decides.
                Ok(None) | Err(_) => {
                    return Ok(Ok(vec![
                        "the page changed at once; the state was not read back".into(),
                    ]));
                }
                Ok(Some(_)) if Instant::now() >= until => {
                    return Ok(Err(Unfit::WrongKind {
                        why: format!(
                            "it was clicked, but is still not {}",
                            if on { "checked" } else { "unchecked" }
                        ),
                    }));
                }
                Ok(Some(_)) => sleep(Duration::from_millis(30)).await,
            }
        }
    }

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
            Err(why) => return Ok(Err(Unfit::WrongKind { why })),
        };
        let answer =
            acts::select_options(&self.realm(), &prepared.context, prepared.id, &[at]).await?;
        if !answer.ok {
            let why = match answer.reason.as_deref() {
                Some("disabled") => format!("its option \"{option}\" is disabled"),
                other => format!(
                    "its option could not be chosen ({})",
                    other.unwrap_or("no reason")
                ),
            };
            return Ok(Err(Unfit::WrongKind { why }));
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
        let opened = Instant::now();
        let mut until = opened + OPTIONS_WITHIN;
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
                    return Ok(Err(Unfit::WrongKind { why }));
                }
                Err(_) => {
                    // Lists that filter as one types show their options only then.
                    let half = until - OPTIONS_WITHIN / 2;
                    if opens
                        && !typed
                        && Instant::now() >= half
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
                            self.type_over(&field, option).await?;
                        }
                    }
                    // Long lists draw their options as they are scrolled.
                    if opened.elapsed() >= OPTIONS_WITHIN / 5
                        && scrolled < OPTION_SCROLLS
                        && self.scroll_options(&observation, scrolled == 0).await?
                    {
                        scrolled += 1;
                        until = until.max(Instant::now() + OPTIONS_WITHIN / 2);
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
        self.shown(&role, &name, option).await
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
    async fn shown(&mut self, role: &str, name: &str, option: &str) -> Fit<Vec<String>> {
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
            if as_value || as_text || as_state || renamed {
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

/// The one option of that name: exact, then but for case; two are no choice.
fn which(options: &[String], wanted: &str) -> Result<usize, String> {
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
            n => return Err(format!("{n} of its options are called \"{wanted}\"")),
        }
    }
    let known: Vec<String> = options
        .iter()
        .take(8)
        .map(|o| format!("\"{}\"", crate::text::visible(o)))
        .collect();
    Err(format!(
        "it has no option \"{wanted}\"; it has {}",
        if known.is_empty() {
            "none".into()
        } else {
            known.join(", ")
        }
    ))
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

fn set_directly(node: &Node) -> bool {
    node.tag == "input"
        && matches!(
            node.input_type.as_deref(),
            Some("date" | "time" | "datetime-local" | "month" | "week" | "color" | "range")
        )
}

fn is_rich(node: &Node) -> bool {
    !matches!(node.tag.as_str(), "input" | "textarea")
}

/// Drawn date pickers show in a field that takes no typing.
pub(super) fn read_only_words(node: &Node) -> &'static str {
    const DATES: &[&str] = &[
        "date", "day", "month", "year", "time", "calendar", "when", "birthday", "data", "giorno",
        "mese", "ora",
    ];
    let says_date = std::iter::once(node.name.as_str())
        .chain(node.hints.iter().map(|h| h.text.as_str()))
        .flat_map(crate::text::fold::words)
        .any(|word| DATES.contains(&word.as_str()));
    if says_date {
        "it is a read-only date picker; click it and use its own controls"
    } else {
        "it takes no typing; if it is a read-only date picker or list, click it and use what opens"
    }
}

fn shape_of(node: &Node) -> &'static str {
    match node.input_type.as_deref() {
        Some("date") => "a date is written 2031-04-09",
        Some("time") => "a time is written 14:30",
        Some("datetime-local") => "date and time are written 2031-04-09T14:30",
        Some("month") => "a month is written 2031-04",
        Some("week") => "a week is written 2031-W15",
        Some("color") => "a colour is written #33aa77",
        _ => "its kind takes another form",
    }
}

/// Equal up to what white space in a field can mean.
fn same(seen: Option<&str>, wanted: &str) -> bool {
    seen.is_some_and(|seen| seen == wanted || fold(seen) == fold(wanted))
}

/// A page may group digits or add a unit; letters and digits must be the same ones in order.
fn formatted(seen: &str, wanted: &str) -> bool {
    let plain = |s: &str| {
        s.chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
            .to_lowercase()
    };
    let (seen, wanted) = (plain(seen), plain(wanted));
    !wanted.is_empty() && seen == wanted
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
        assert!(which(&options, "Sal").unwrap_err().contains("\"Sea salt\""));
        assert!(
            which(&["A".into(), "A".into()], "A")
                .unwrap_err()
                .contains("2 of its options")
        );
    }

    #[test]
    fn a_formatted_value_is_the_same_value_and_an_appended_one_is_not() {
        assert!(formatted("1,025 kg", "1025kg"));
        assert!(!formatted("1025", "25"));
        assert!(!formatted("", "x"));
    }
}
