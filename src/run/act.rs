//! Each step's act, reduced to primitives and carried out (R34, R36).

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::broker::{Arrival, Primitive, Unfit};
use crate::event::{Acted, Status, What};
use crate::page::Node;
use crate::plan::PlannedStep;
use crate::resolve::{self, MissKind, describe};
use crate::scenario::{Act, By, FormValue, Phrase, Scope, ScrollTo, Target, Value, Verb, WaitFor};

use super::attempt::AttemptRun;
use super::failure::Fault;
use super::find::{POLL, Ready, Wanted};
use super::look::{self, Facts};

/// A page may take so long to come, unless the step says otherwise.
const GOES_WITHIN: Duration = Duration::from_secs(15);

/// How a step's act came out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    pub notes: Vec<String>,
    /// An optional step whose target was absent.
    pub skipped: bool,
}

impl Done {
    fn skipped() -> Self {
        Self {
            notes: vec!["not there; the step is optional".into()],
            skipped: true,
        }
    }
}

impl AttemptRun<'_> {
    pub async fn act(&mut self, step: &PlannedStep) -> Result<Done, Fault> {
        let scope = &step.step.scope;
        match &step.step.act {
            Act::Goto(address) => self.goto(step, address).await,
            Act::Click(target) => {
                self.on(step, target, Verb::Click, scope, Primitive::Click)
                    .await
            }
            Act::Fill { target, value } => {
                self.on(step, target, Verb::Fill, scope, fill(value)).await
            }
            Act::Form(fields) => self.form(step, fields).await,
            Act::Select { option, target } => {
                let primitive = Primitive::Select {
                    option: option.clone(),
                };
                match target {
                    Some(target) => self.on(step, target, Verb::Select, scope, primitive).await,
                    None => {
                        self.on(step, &any(step), Verb::Select, scope, primitive)
                            .await
                    }
                }
            }
            Act::Check { target, on } => {
                let verb = if *on { Verb::Check } else { Verb::Uncheck };
                self.on(step, target, verb, scope, Primitive::Check { on: *on })
                    .await
            }
            Act::Press { keys, target } => {
                let primitive = Primitive::Press { keys: keys.clone() };
                match target {
                    Some(target) => self.on(step, target, Verb::Press, scope, primitive).await,
                    None => self.press_focused(step, keys).await,
                }
            }
            Act::Hover(target) => {
                self.on(step, target, Verb::Hover, scope, Primitive::Hover)
                    .await
            }
            Act::Scroll { to, target } => self.scroll(step, to, target.as_ref()).await,
            Act::Drag { target, to } => self.drag(step, target, to).await,
            Act::Upload { file, target } => {
                let file = self.suite_root().join(file);
                let primitive = Primitive::Upload { file };
                match target {
                    Some(target) => self.on(step, target, Verb::Upload, scope, primitive).await,
                    None => {
                        self.on(step, &any(step), Verb::Upload, scope, primitive)
                            .await
                    }
                }
            }
            Act::Submit(target) => {
                self.on(step, target, Verb::Submit, scope, Primitive::Submit)
                    .await
            }
            Act::Login(credential) => self.login(step, credential).await,
            Act::Wait(what) => self.wait(step, what).await,
            Act::WaitForUser(reason) => self.wait_for_user(reason).await,
            Act::Expect(lines) => {
                self.expect(lines, self.timeout_of(step)).await?;
                Ok(Done::default())
            }
            Act::Extract(extract) => self.extract(step, extract).await,
            Act::Plan(goal) => Box::pin(self.plan_goal(step, goal)).await,
            Act::Sentence(phrase) => self.sentence(step, phrase).await,
            // Unfolded by the plan.
            Act::Use { flow, .. } => Err(Fault::new(
                Status::Invalid,
                "unfolded",
                format!("flow `{flow}` was not unfolded"),
            )),
        }
    }

    async fn goto(&mut self, step: &PlannedStep, address: &str) -> Result<Done, Fault> {
        let url = self.address(address)?;
        let arrival = self
            .broker
            .goto(&url, step.step.timeout.unwrap_or(GOES_WITHIN))
            .await?;
        let shown = crate::page::shown_address(match &arrival {
            Arrival::Arrived { url, .. } => url,
            _ => url.as_str(),
        });
        self.say.say(What::Acted(Acted {
            step: step.place.clone(),
            primitive: "goto".into(),
            says: format!("Go to {shown}"),
            url: shown,
            effect: None,
            role: None,
            name: None,
            value: None,
            reason: None,
        }));
        match arrival {
            Arrival::Arrived { note, .. } => Ok(Done {
                notes: note.into_iter().collect(),
                skipped: false,
            }),
            Arrival::Refused { reason, url } => Err(Fault::new(
                Status::Refused,
                "host_left",
                format!("{url} was refused: {reason}"),
            )
            .help("add the host to `hosts` if the scenario needs it")),
            // A file came in the place of a page, and the step says so.
            Arrival::Failed { reason, .. }
                if reason == "aborted" && step.step.download.is_some() =>
            {
                Ok(Done::default())
            }
            Arrival::Failed { reason, message } => Err(Fault::failed(&reason, message)),
        }
    }

    /// A primitive on one target.
    pub(super) async fn on(
        &mut self,
        step: &PlannedStep,
        target: &Target,
        verb: Verb,
        scope: &Scope,
        primitive: Primitive,
    ) -> Result<Done, Fault> {
        let wanted = Wanted {
            target,
            verb,
            scope,
            sentence: None,
        };
        self.on_wanted(step, wanted, primitive).await
    }

    async fn on_wanted(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        primitive: Primitive,
    ) -> Result<Done, Fault> {
        // A re-rendered element is looked up again; the action itself is carried out at most once.
        let mut until = None;
        let (mut pictured, mut said) = (false, false);
        loop {
            let Some(Ready { pick, prepared }) = self.ready(step, wanted, &primitive).await? else {
                return Ok(Done::skipped());
            };
            // Counted from the first time it was found: the search for it may have taken long.
            let until = *until.get_or_insert(Instant::now() + self.timeout_of(step));
            // A tutorial shows the control where it is clicked, and the click may take the page away.
            if self.planned.scenario.tutorial.is_some()
                && matches!(primitive, Primitive::Click | Primitive::Submit)
                && prepared.scrolled()
                && !pictured
            {
                pictured = true;
                self.acted_at(&self.broker.aimed(&prepared));
                self.picture(&step.place).await;
                // The picture took its time: aim anew.
                continue;
            }
            if !said {
                said = true;
                let observation = self.broker.last().unwrap_or_default();
                self.say_resolved(step, wanted, &pick, &observation);
            }
            let node = prepared.node().clone();
            match self.broker.perform(prepared, &primitive).await? {
                Ok(effect) => {
                    self.filled(&primitive, &node);
                    self.said_acted(
                        step,
                        primitive.word(),
                        &says(&primitive, &pick.role, &pick.name),
                        effect.change.clone(),
                        Some((&pick.role, &pick.name)),
                        value_says(&primitive),
                    );
                    self.acted_at(&effect);
                    return Ok(Done {
                        notes: effect.notes,
                        skipped: false,
                    });
                }
                Err(Unfit::Rerendered) if Instant::now() < until => {
                    self.broker.look().await?;
                }
                Err(Unfit::NotOffered { .. }) if Instant::now() < until && !self.must_stop() => {
                    sleep(POLL).await;
                    self.broker.look().await?;
                }
                Err(unfit) => return Err(Fault::unfit(&pick.role, &pick.name, &unfit)),
            }
        }
    }

    async fn press_focused(&mut self, step: &PlannedStep, keys: &str) -> Result<Done, Fault> {
        let effect = self
            .broker
            .press_focused(keys)
            .await?
            .map_err(|unfit| Fault::failed(unfit.reason(), unfit.message()))?;
        self.said_acted(
            step,
            "click",
            &format!("Press {keys}"),
            effect.change.clone(),
            None,
            Some(keys.to_owned()),
        );
        self.acted_at(&effect);
        Ok(Done {
            notes: effect.notes,
            skipped: false,
        })
    }

    /// Several controls, each by its type, each its own primitive.
    async fn form(
        &mut self,
        step: &PlannedStep,
        fields: &[(Target, FormValue)],
    ) -> Result<Done, Fault> {
        let mut done = Done::default();
        for (target, value) in fields {
            let wanted = Wanted {
                target,
                verb: Verb::Form,
                scope: &step.step.scope,
                sentence: None,
            };
            let Some(ready) = self.ready(step, wanted, &Primitive::ScrollTo).await? else {
                continue;
            };
            let kind = self
                .broker
                .last()
                .and_then(|o| o.node(ready.pick.id).cloned())
                .unwrap_or_default();
            let primitive = for_field(&kind, value).map_err(|why| {
                Fault::failed(
                    "wrong_kind",
                    format!("{}: {why}", describe(&ready.pick.role, &ready.pick.name)),
                )
            })?;
            let one = self.on_wanted(step, wanted, primitive).await?;
            done.notes.extend(one.notes);
        }
        Ok(done)
    }

    async fn scroll(
        &mut self,
        step: &PlannedStep,
        to: &ScrollTo,
        target: Option<&Target>,
    ) -> Result<Done, Fault> {
        let (dx, dy) = match to {
            ScrollTo::Target(target) => {
                return self
                    .on(
                        step,
                        target,
                        Verb::Scroll,
                        &step.step.scope,
                        Primitive::ScrollTo,
                    )
                    .await;
            }
            ScrollTo::Down => (0, 1),
            ScrollTo::Up => (0, -1),
            ScrollTo::Right => (1, 0),
            ScrollTo::Left => (-1, 0),
            ScrollTo::Bottom => (0, i32::MAX),
            ScrollTo::Top => (0, i32::MIN),
        };
        let primitive = Primitive::Scroll { dx, dy };
        match target {
            Some(target) => {
                self.on(step, target, Verb::Scroll, &step.step.scope, primitive)
                    .await
            }
            None => {
                self.broker.scroll_page(dx, dy).await?;
                self.said_acted(step, "wait", "Scroll the page", None, None, None);
                Ok(Done::default())
            }
        }
    }

    async fn drag(
        &mut self,
        step: &PlannedStep,
        target: &Target,
        to: &Target,
    ) -> Result<Done, Fault> {
        let no_scope = Scope::default();
        let destination = Wanted {
            target: to,
            verb: Verb::Drag,
            scope: &no_scope,
            sentence: None,
        };
        let Some(there) = self.ready(step, destination, &Primitive::ScrollTo).await? else {
            return Ok(Done::skipped());
        };
        self.on(
            step,
            target,
            Verb::Drag,
            &step.step.scope,
            Primitive::Drag { to: there.pick.id },
        )
        .await
    }

    async fn wait(&mut self, step: &PlannedStep, what: &WaitFor) -> Result<Done, Fault> {
        let until = Instant::now() + self.timeout_of(step);
        if let WaitFor::Seconds(pause) = what {
            sleep(*pause).await;
            self.broker.look().await?;
            return Ok(Done::default());
        }
        let mut looks = 0;
        loop {
            let observation = self.broker.look().await?;
            looks += 1;
            let (holds, words) = match what {
                WaitFor::Target(target) => {
                    let there = self.is_there(target, &step.step.scope).await?;
                    (there, "did not come".to_owned())
                }
                WaitFor::Gone(target) => {
                    let there = self.is_there(target, &step.step.scope).await?;
                    (!there, "is still there".to_owned())
                }
                WaitFor::Url(glob) => (
                    url::Url::parse(&observation.url)
                        .is_ok_and(|url| crate::policy::Glob::for_url(glob).matches_url(&url)),
                    format!(
                        "did not come; the address is {}",
                        crate::page::shown_address(&observation.url)
                    ),
                ),
                WaitFor::Seconds(_) => (true, String::new()),
            };
            if holds {
                // It may have been quick, or the name may be misspelt.
                let never_seen = looks == 1 && matches!(what, WaitFor::Gone(_));
                return Ok(Done {
                    notes: never_seen
                        .then(|| "it was not there when the wait began".to_owned())
                        .into_iter()
                        .collect(),
                    skipped: false,
                });
            }
            if Instant::now() >= until || self.must_stop() {
                let subject = match what {
                    WaitFor::Target(t) | WaitFor::Gone(t) => t.to_string(),
                    WaitFor::Url(glob) => format!("address {glob}"),
                    WaitFor::Seconds(_) => String::new(),
                };
                let mut fault = Fault::failed(
                    "wait_timed_out",
                    format!(
                        "{subject} {words} within {} s",
                        self.timeout_of(step).as_secs_f32()
                    ),
                );
                if let WaitFor::Target(target) = what {
                    let query = resolve::Query {
                        target,
                        verb: Verb::Wait,
                        scope: &step.step.scope,
                        near: false,
                        sentence: false,
                    };
                    if let Err(miss) = resolve::resolve(&observation, &query) {
                        fault.failure.nearest =
                            miss.nearest.iter().map(super::failure::rival).collect();
                    }
                }
                return Err(fault);
            }
            sleep(POLL).await;
        }
    }

    /// Whether a target is there now. A name alone may be a control's, or words on the page: what one
    /// waits for ("Loading", "Saved") is often no control.
    async fn is_there(&mut self, target: &Target, scope: &Scope) -> Result<bool, Fault> {
        let (words, exact) = match &target.by {
            By::Name {
                role: None,
                name: Some(name),
                exact,
            } => (Some(name), *exact),
            _ => (None, true),
        };
        let as_text = words.map(|words| Target {
            by: By::Text(words.clone()),
            span: target.span,
        });
        let meant = [Some(target), as_text.as_ref()];
        let within = &scope.within;
        self.broker
            .seek(within.iter().chain(meant.into_iter().flatten()));
        let observation = self.broker.seen().await?;
        for target in meant.into_iter().flatten() {
            match resolve::find_all(&observation, target, Verb::Wait, within, false) {
                Ok(found) if found.is_empty() => {}
                Ok(_) => return Ok(true),
                // A scope that is not there yet holds nothing yet.
                Err(miss) if miss.kind == MissKind::NoScope => return Ok(false),
                Err(miss) => return Err(Fault::miss(&miss)),
            }
        }
        Ok(words.is_some_and(|w| !exact && resolve::shows_line(&observation, w, within)))
    }

    async fn wait_for_user(&mut self, reason: &str) -> Result<Done, Fault> {
        self.human
            .wait(reason)
            .await
            .map_err(|why| Fault::failed("human_needed", why))?;
        self.signed_in_by.get_or_insert_with(|| "human".into());
        self.broker.look().await?;
        Ok(Done {
            notes: vec!["a person did this part".into()],
            skipped: false,
        })
    }

    /// Polled check in the middle.
    pub(super) async fn expect(
        &mut self,
        lines: &[crate::scenario::Expectation],
        within: Duration,
    ) -> Result<(), Fault> {
        self.mend_while_waiting(lines, within).await?;
        let facts = Facts { data: &self.data };
        let (checked, holds) = look::poll(&mut self.broker, lines, &facts, within).await?;
        if holds {
            return Ok(());
        }
        let findings = look::findings(lines, &checked);
        let first = findings.iter().find(|f| !f.holds).cloned();
        let seen: Vec<String> = findings
            .iter()
            .filter(|f| !f.holds)
            .map(|f| f.saw.clone())
            .collect();
        let line = first.map(|f| f.line).unwrap_or_default();
        Err(Fault::failed(
            "expectation",
            format!("`{line}` did not hold within {} s", within.as_secs_f32()),
        )
        .seen(seen)
        .seen(self.tabs_left_aside()))
    }

    async fn extract(
        &mut self,
        step: &PlannedStep,
        extract: &crate::scenario::Extract,
    ) -> Result<Done, Fault> {
        self.extract_into(&step.place, extract).await?;
        Ok(Done::default())
    }

    /// A sentence whose verb is fixed and whose target is a phrase.
    async fn sentence(&mut self, step: &PlannedStep, phrase: &Phrase) -> Result<Done, Fault> {
        let phrase = &self.read_by_page(step, phrase).await?;
        let target = named_by(step, phrase.role.clone(), &phrase.target);
        let wanted = Wanted {
            target: &target,
            verb: phrase.verb,
            scope: &step.step.scope,
            sentence: Some(&phrase.text),
        };
        if phrase.verb == Verb::Wait {
            return self.await_wanted(step, wanted).await;
        }
        let primitive = for_verb(phrase).map_err(|why| Fault::failed("wrong_kind", why))?;
        self.on_wanted(step, wanted, primitive).await
    }

    /// A sentence that can be read in several ways means the one whose target the page has exactly.
    async fn read_by_page(&mut self, step: &PlannedStep, phrase: &Phrase) -> Result<Phrase, Fault> {
        if phrase.others.is_empty() {
            return Ok(phrase.clone());
        }
        let observation = self.broker.seen().await?;
        let has = |name: &str, role: Option<String>| {
            let query = resolve::Query {
                target: &named_by(step, role, name),
                verb: phrase.verb,
                scope: &step.step.scope,
                near: false,
                sentence: false,
            };
            resolve::resolve(&observation, &query).is_ok()
        };
        if has(&phrase.target, phrase.role.clone()) {
            return Ok(phrase.clone());
        }
        let meant = phrase.others.iter().find(|(name, _)| has(name, None));
        Ok(match meant {
            Some((name, value)) => Phrase {
                target: name.clone(),
                role: None,
                value: Some(value.clone()),
                ..phrase.clone()
            },
            None => phrase.clone(),
        })
    }

    pub(super) fn said_acted(
        &mut self,
        step: &PlannedStep,
        primitive: &str,
        says: &str,
        effect: Option<String>,
        on: Option<(&str, &str)>,
        value: Option<String>,
    ) {
        let url = self
            .broker
            .last()
            .map(|o| crate::page::shown_address(&o.url))
            .unwrap_or_default();
        self.say.say(What::Acted(Acted {
            step: step.place.clone(),
            primitive: primitive.to_owned(),
            says: says.to_owned(),
            url,
            effect,
            role: on.map(|(role, _)| role.to_owned()),
            name: on.map(|(_, name)| name.to_owned()),
            value,
            reason: None,
        }));
    }
}

fn named_by(step: &PlannedStep, role: Option<String>, name: &str) -> Target {
    Target {
        by: By::Name {
            role,
            name: Some(name.to_owned()),
            exact: false,
        },
        span: step.step.span,
    }
}

/// A target that means the only one of its kind.
fn any(step: &PlannedStep) -> Target {
    Target {
        by: By::Name {
            role: None,
            name: None,
            exact: false,
        },
        span: step.step.span,
    }
}

pub(super) fn fill(value: &Value) -> Primitive {
    match value {
        Value::Text(text) => Primitive::Fill { text: text.clone() },
        Value::Credential { name, field } => Primitive::FillSecret {
            credential: name.clone(),
            field: field.clone(),
        },
    }
}

/// What `form:` does to a field of this kind.
fn for_field(node: &Node, value: &FormValue) -> Result<Primitive, String> {
    let box_like = matches!(
        node.role.as_str(),
        "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio"
    );
    let list_like = matches!(node.role.as_str(), "listbox" | "radiogroup" | "group")
        || node.role == "combobox" && (node.tag == "select" || node.states.read_only)
        || node.role == "combobox" && !matches!(node.tag.as_str(), "input" | "textarea");
    Ok(match value {
        FormValue::Bool(on) if box_like => Primitive::Check { on: *on },
        FormValue::Bool(on) => Primitive::Fill {
            text: on.to_string(),
        },
        FormValue::Value(_) if box_like => return Err("a box or switch takes true or false".into()),
        FormValue::Value(Value::Text(text)) if list_like => Primitive::Select {
            option: text.clone(),
        },
        FormValue::Value(value) => fill(value),
    })
}

/// The primitive of a sentence's verb; the verb is fixed, whatever the page or a model says (R37).
pub(super) fn for_verb(phrase: &Phrase) -> Result<Primitive, String> {
    let value = || {
        phrase
            .value
            .clone()
            .ok_or_else(|| format!("`{}` says no value", phrase.text))
    };
    let text = |value: Value| match value {
        Value::Text(text) => Ok(text),
        Value::Credential { .. } => Err("a credential can only be filled into a field".to_owned()),
    };
    Ok(match phrase.verb {
        Verb::Fill => fill(&value()?),
        Verb::Select => Primitive::Select {
            option: text(value()?)?,
        },
        Verb::Check => Primitive::Check { on: true },
        Verb::Uncheck => Primitive::Check { on: false },
        Verb::Press => Primitive::Press {
            keys: text(value()?)?,
        },
        Verb::Hover => Primitive::Hover,
        Verb::Scroll => Primitive::ScrollTo,
        Verb::Submit => Primitive::Submit,
        Verb::Click => Primitive::Click,
        other => {
            return Err(format!(
                "a sentence can't do {other:?} to a control that has to be found first"
            ));
        }
    })
}

/// The primitive as one sentence; secrets by marker (R4, R16).
pub fn says(primitive: &Primitive, role: &str, name: &str) -> String {
    let on = crate::resolve::describe(role, name);
    match primitive {
        Primitive::Click => format!("Click {on}"),
        Primitive::Fill { text } => format!("Fill {on} with \"{}\"", crate::text::cut(text, 200)),
        Primitive::FillSecret { .. } => format!("Fill {on} with [HIDDEN] (secret)"),
        Primitive::Select { option } => format!("Select \"{option}\" in {on}"),
        Primitive::Check { on: true } => format!("Check {on}"),
        Primitive::Check { on: false } => format!("Uncheck {on}"),
        Primitive::Press { keys } => format!("Press {keys} in {on}"),
        Primitive::Hover => format!("Hover over {on}"),
        Primitive::ScrollTo => format!("Scroll to {on}"),
        Primitive::Scroll { .. } => format!("Scroll in {on}"),
        Primitive::Drag { .. } => format!("Drag {on}"),
        Primitive::Upload { file } => {
            format!(
                "Upload {} to {on}",
                file.file_name()
                    .map(|n| n.to_string_lossy().into_owned())
                    .unwrap_or_default()
            )
        }
        Primitive::Submit => format!("Submit the form of {on}"),
    }
}

/// What was put in, by reference.
fn value_says(primitive: &Primitive) -> Option<String> {
    match primitive {
        Primitive::Fill { text } => Some(crate::text::cut(text, 200)),
        Primitive::FillSecret { credential, field } => {
            Some(format!("credential {credential}.{field}"))
        }
        Primitive::Select { option } => Some(option.clone()),
        Primitive::Press { keys } => Some(keys.clone()),
        _ => None,
    }
}
