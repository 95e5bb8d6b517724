//! From the planner's object to a typed action.
//!
//! Every word is looked up in a list: actions, ids, addresses, variables, credentials, options,
//! keys. Only a value for a field may be words of the goal, and then word for word.

use serde_json::{Map, Value};

use super::answer;
use super::candidates::Candidate;
use super::error::AnswerError;
use super::planner::{ACTIONS, Action, Decision, Direction, FillValue, Key, Turn};
use super::prompt::{bare_address, cut, one_line, quote};

pub(super) fn read(object: &Map<String, Value>, turn: &Turn) -> Result<Decision, AnswerError> {
    answer::only_fields(object, &["reason", "action", "target", "value"])?;
    let reason = answer::reason(answer::text(object, "reason")?)?;
    let name = answer::text(object, "action")?;
    let name = *ACTIONS
        .iter()
        .find(|known| **known == name)
        .ok_or_else(|| AnswerError::UnknownAction(cut(name, 40)))?;
    let given = Given {
        turn,
        name,
        target: answer::optional_text(object, "target")?,
        value: answer::optional_text(object, "value")?,
    };
    let (action, says) = given.action(&reason)?;
    Ok(Decision {
        reason,
        action,
        says,
    })
}

/// The parts of an answer on their way to an action. What an action has no use for is not read.
struct Given<'a> {
    turn: &'a Turn<'a>,
    name: &'static str,
    target: Option<&'a str>,
    value: Option<&'a str>,
}

impl<'a> Given<'a> {
    fn action(&self, reason: &str) -> Result<(Action, String), AnswerError> {
        let why = || reason.to_owned();
        let done = match self.name {
            "wait" => Action::Wait,
            "look_further" => Action::LookFurther,
            "done" => Action::Done,
            "stuck" => Action::Stuck { why: why() },
            "wait_for_user" => Action::WaitForUser { why: why() },
            "press" => return self.press(),
            "scroll" => return self.scroll(),
            "goto" => return self.goto(),
            "login" => return self.login(),
            _ => return self.on_control(),
        };
        Ok((done, self.name.replace('_', " ")))
    }

    fn on_control(&self) -> Result<(Action, String), AnswerError> {
        let control = self.control()?;
        let node = control.node;
        let on = says_control(control);
        Ok(match self.name {
            "click" => (Action::Click { node }, format!("click {on}")),
            "submit" => (Action::Submit { node }, format!("submit {on}")),
            "check" => (Action::Check { node, on: true }, format!("check {on}")),
            "uncheck" => (Action::Check { node, on: false }, format!("uncheck {on}")),
            "select" => {
                let option = self.option(control)?;
                let says = format!("select {} in {on}", quote(&option, 60));
                (Action::Select { node, option }, says)
            }
            _ => {
                let value = self.fill_value(control)?;
                let says = format!("fill {on} with {}", says_value(&value));
                (Action::Fill { node, value }, says)
            }
        })
    }

    fn press(&self) -> Result<(Action, String), AnswerError> {
        let key = self.value.and_then(Key::parse).ok_or_else(|| {
            self.bad("Enter, Escape, Tab, ArrowUp, ArrowDown, ArrowLeft or ArrowRight")
        })?;
        let control = self.optional_control()?;
        let says = match control {
            Some(control) => format!("press {} in {}", key.name(), says_control(control)),
            None => format!("press {}", key.name()),
        };
        Ok((
            Action::Press {
                key,
                node: control.map(|c| c.node),
            },
            says,
        ))
    }

    fn scroll(&self) -> Result<(Action, String), AnswerError> {
        let word = self.value.unwrap_or("down");
        let direction =
            Direction::parse(word).ok_or_else(|| self.bad("up, down, left or right"))?;
        let control = self.optional_control()?;
        let says = match control {
            Some(control) => format!("scroll {word} in {}", says_control(control)),
            None => format!("scroll {word}"),
        };
        Ok((
            Action::Scroll {
                node: control.map(|c| c.node),
                direction,
            },
            says,
        ))
    }

    fn goto(&self) -> Result<(Action, String), AnswerError> {
        let id = self
            .target
            .ok_or(AnswerError::NoTarget { action: self.name })?;
        let number = id.strip_prefix('a').and_then(|n| n.parse::<usize>().ok());
        let address = number
            .filter(|n| format!("a{n}") == id)
            .and_then(|n| self.turn.addresses.get(n.checked_sub(1)?))
            .ok_or_else(|| AnswerError::UnknownId(cut(id, 40)))?;
        let says = format!("goto {}", quote(&bare_address(address), 120));
        Ok((
            Action::Goto {
                address: address.clone(),
            },
            says,
        ))
    }

    fn login(&self) -> Result<(Action, String), AnswerError> {
        let wanted = self.value.unwrap_or_default();
        let known = self
            .turn
            .credentials
            .iter()
            .find(|(name, _)| name == wanted);
        let (name, _) = known.ok_or_else(|| self.bad("the name of a listed credential"))?;
        Ok((
            Action::Login {
                credential: name.clone(),
            },
            format!("login {name}"),
        ))
    }

    fn control(&self) -> Result<&'a Candidate, AnswerError> {
        let id = self
            .target
            .ok_or(AnswerError::NoTarget { action: self.name })?;
        self.turn.offer.find(id)
    }

    fn optional_control(&self) -> Result<Option<&'a Candidate>, AnswerError> {
        self.target.map(|id| self.turn.offer.find(id)).transpose()
    }

    /// An option that is listed, or, where the list comes late, words of the goal or a variable.
    fn option(&self, control: &Candidate) -> Result<String, AnswerError> {
        let value = self.value.ok_or_else(|| self.bad("an option"))?;
        if let Some(option) = control
            .options
            .iter()
            .find(|o| one_line(o) == one_line(value))
        {
            return Ok(option.clone());
        }
        if control.options.is_empty() {
            if let Some(text) = self.variable(value) {
                return Ok(text.to_owned());
            }
            if stands_in(self.turn.goal, value) {
                return Ok(value.trim().to_owned());
            }
        }
        Err(self.bad("one of the listed options"))
    }

    fn fill_value(&self, control: &Candidate) -> Result<FillValue, AnswerError> {
        let value = self.value.ok_or_else(|| self.bad("a value"))?;
        if let Some(reference) = value.strip_prefix("cred:") {
            let (name, field) = reference.split_once('.').unwrap_or((reference, ""));
            let listed = self.turn.credentials.iter();
            let known = listed
                .filter(|(n, _)| n == name)
                .any(|(_, f)| f.iter().any(|f| f == field));
            return match known {
                true => Ok(FillValue::Credential {
                    name: name.into(),
                    field: field.into(),
                }),
                false => Err(self.bad("a listed credential's field, as cred:NAME.FIELD")),
            };
        }
        if control.secret {
            return Err(self.bad("a credential's field: this is a password field"));
        }
        if self.variable(value).is_some() {
            return Ok(FillValue::Variable(value["var:".len()..].to_owned()));
        }
        match stands_in(self.turn.goal, value) {
            true => Ok(FillValue::GoalText(value.trim().to_owned())),
            false => Err(self.bad("var:NAME, cred:NAME.FIELD, or words that stand in the goal")),
        }
    }

    fn variable(&self, value: &str) -> Option<&str> {
        let name = value.strip_prefix("var:")?;
        let mut all = self.turn.variables.iter();
        all.find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn bad(&self, wanted: &str) -> AnswerError {
        AnswerError::BadValue {
            action: self.name,
            value: cut(&one_line(self.value.unwrap_or_default()), 60),
            wanted: wanted.to_owned(),
        }
    }
}

fn says_control(control: &Candidate) -> String {
    format!("{} {}", control.role, quote(&control.name, 60))
}

fn says_value(value: &FillValue) -> String {
    match value {
        FillValue::Variable(name) => format!("variable {name}"),
        FillValue::Credential { name, field } => format!("credential {name}.{field}"),
        FillValue::GoalText(text) => quote(text, 60),
    }
}

/// Word for word: the value stands in the goal and does not begin or end inside a word.
pub(super) fn stands_in(goal: &str, value: &str) -> bool {
    let (goal, value) = (one_line(goal), value.trim());
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let whole = |(at, found): (usize, &str)| {
        let before = word(goal[..at].chars().next_back());
        let after = word(goal[at + found.len()..].chars().next());
        let (first, last) = (word(found.chars().next()), word(found.chars().next_back()));
        !(before && first || last && after)
    };
    !value.is_empty() && goal.match_indices(value).any(whole)
}
