//! What was tried → the actions worth telling, each with its words.

use super::history::{History, Try};
use super::model::{Words, tame};
use crate::event::Acted;

/// What kind of thing a reader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Login,
    Goto,
    Click,
    Fill,
    Choose,
    Tick,
    Untick,
    Upload,
    Press,
    Point,
    Drag,
    Submit,
    /// A person's own part: a CAPTCHA, a second factor.
    Person,
}

impl Kind {
    /// Puts something into a control and leaves the page as it is.
    pub fn enters(self) -> bool {
        matches!(
            self,
            Self::Fill | Self::Choose | Self::Tick | Self::Untick | Self::Upload
        )
    }

    /// May send what was entered.
    pub fn sends(self) -> bool {
        matches!(self, Self::Click | Self::Submit | Self::Press)
    }
}

/// One thing to do.
#[derive(Debug, Clone)]
pub struct Action {
    pub kind: Kind,
    pub place: String,
    pub role: String,
    pub name: String,
    pub value: Option<String>,
    /// Address the action was done on, without query and fragment.
    pub page: String,
    pub note: Option<String>,
    pub picture: Wish,
    /// What it changes, in the author's words.
    pub write: Option<String>,
    /// How often in a row.
    pub times: u32,
    /// Places in the order of events: the step's first, the action's, the step's last.
    pub from: usize,
    pub at: usize,
    pub to: usize,
}

/// The author's `picture:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wish {
    #[default]
    Free,
    Keep,
    Drop,
}

/// Place of the opening of the start address, which the introduction tells.
const START: &str = "0";

/// The actions that worked and that a reader has to do. Failed, skipped and repeated tries, waits,
/// checks and the opening of the start address are left out; so is what fixtures did.
pub fn worth_telling(history: &History) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    for one in history
        .tries
        .iter()
        .filter(|t| t.passed() && t.started.by != "fixture" && t.started.step != START)
    {
        for action in of(one) {
            let again = actions.last_mut().filter(|last| same(last, &action));
            match again {
                Some(last) => {
                    last.times += 1;
                    (last.at, last.to) = (action.at, action.to);
                }
                None => actions.push(action),
            }
        }
    }
    actions
}

/// The same click once more ("Next", "Next", "Next").
fn same(last: &Action, next: &Action) -> bool {
    matches!(last.kind, Kind::Click | Kind::Press)
        && (last.kind, &last.role, &last.name, &last.value)
            == (next.kind, &next.role, &next.name, &next.value)
        && next.note.is_none()
}

fn of(one: &Try) -> Vec<Action> {
    let started = &one.started;
    match started.verb.as_str() {
        "wait" | "expect" | "extract" | "scroll" | "use" | "plan" | "done" | "stuck" | "start" => {
            return Vec::new();
        }
        // Whoever is signed in already has nothing to do.
        "login" if one.acted.is_empty() => return Vec::new(),
        "login" => return vec![login(one)],
        "wait_for_user" => return vec![bare(one, Kind::Person, &after_colon(&started.written))],
        _ => {}
    }
    one.acted
        .iter()
        .filter_map(|(at, acted)| {
            let kind = kind_of(acted)?;
            Some(Action {
                role: acted.role.clone().unwrap_or_default(),
                name: tame(acted.name.as_deref().unwrap_or_default(), 80),
                value: acted.value.clone(),
                page: page_of(match kind {
                    // Where it leads is the point; where it was done from is not.
                    Kind::Goto => acted.says.strip_prefix("Go to ").unwrap_or(&acted.url),
                    _ => &acted.url,
                }),
                at: *at,
                ..bare(one, kind, "")
            })
        })
        .collect()
}

fn bare(one: &Try, kind: Kind, name: &str) -> Action {
    let url = one
        .acted
        .first()
        .map(|(_, a)| a.url.as_str())
        .unwrap_or_default();
    Action {
        kind,
        place: one.started.step.clone(),
        role: String::new(),
        name: name.to_owned(),
        value: None,
        page: page_of(url),
        note: one.started.note.clone().filter(|n| !n.trim().is_empty()),
        picture: match one.started.picture.as_deref() {
            Some("keep") => Wish::Keep,
            Some("drop") => Wish::Drop,
            _ => Wish::Free,
        },
        write: one.started.write.clone(),
        times: 1,
        from: one.from,
        at: one.acted.first().map_or(one.from, |(at, _)| *at),
        to: one.to,
    }
}

fn login(one: &Try) -> Action {
    bare(one, Kind::Login, &credential_of(one).unwrap_or_default())
}

/// The credential a login used: from what was filled, else from the step's own words.
pub fn credential_of(one: &Try) -> Option<String> {
    let filled = one.acted.iter().filter_map(|(_, a)| a.value.as_deref());
    let named = filled.filter_map(|v| v.strip_prefix("credential ")).next();
    if let Some(named) = named {
        return Some(named.split('.').next().unwrap_or(named).to_owned());
    }
    let word = |text: &str| {
        let all = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let mut names = all.filter(|w| {
            w.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        });
        names
            .rfind(|w| {
                !w.is_empty()
                    && !matches!(
                        *w,
                        "login" | "in" | "as" | "with" | "account" | "user" | "the"
                    )
            })
            .map(str::to_owned)
    };
    word(&one.started.written).or_else(|| word(&one.started.says))
}

/// `says` begins with the program's own word for what was done; the primitive alone is coarser.
fn kind_of(acted: &Acted) -> Option<Kind> {
    let first = acted.says.split(' ').next().unwrap_or_default();
    Some(match (first, acted.primitive.as_str()) {
        ("Select" | "Choose", _) => Kind::Choose,
        ("Check", "fill") => Kind::Tick,
        ("Uncheck", "fill") => Kind::Untick,
        ("Upload", _) => Kind::Upload,
        ("Press", _) => Kind::Press,
        ("Hover", _) => Kind::Point,
        ("Drag", _) => Kind::Drag,
        ("Submit", _) | (_, "submit") => Kind::Submit,
        (_, "login") => Kind::Login,
        ("Scroll" | "Wait", _) | (_, "wait") => return None,
        (_, "goto") => Kind::Goto,
        (_, "select") => Kind::Choose,
        (_, "check") => Kind::Tick,
        (_, "uncheck") => Kind::Untick,
        (_, "press") => Kind::Press,
        (_, "fill" | "form") => Kind::Fill,
        _ => Kind::Click,
    })
}

/// The address without query and fragment: what counts as one page.
pub fn page_of(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    url[..end].to_owned()
}

fn after_colon(written: &str) -> String {
    let text = written.split_once(':').map_or(written, |(_, rest)| rest);
    tame(text.trim_matches([' ', '"', '\'']), 120)
}

impl Action {
    /// As an instruction, without a full stop: "Click **Commit changes**".
    pub fn words(&self) -> Words {
        let named = !self.name.trim().is_empty();
        let on = |words: Words| match named {
            true => words.control(&self.name),
            false => words.say(format!("the {}", self.thing())),
        };
        let value = self.value.as_deref().unwrap_or_default();
        let words = match self.kind {
            Kind::Login if named => Words::of("Sign in with the ")
                .control(&self.name)
                .say(" account"),
            Kind::Login => Words::of("Sign in"),
            Kind::Goto => Words::of("Go to ").address(&self.page),
            Kind::Click => on(Words::of(match self.role.as_str() {
                "tab" => "Open the tab ",
                "option" | "menuitem" | "menuitemradio" | "menuitemcheckbox" | "radio" => "Choose ",
                _ => "Click ",
            })),
            Kind::Fill => filled(on(Words::of("Fill in ")), value),
            Kind::Choose => on(Words::of("Choose ").value(value).say(" in ")),
            Kind::Tick if self.role == "radio" => on(Words::of("Choose ")),
            Kind::Tick if self.role == "switch" => on(Words::of("Switch on ")),
            Kind::Tick => on(Words::of("Tick ")),
            Kind::Untick if self.role == "switch" => on(Words::of("Switch off ")),
            Kind::Untick => on(Words::of("Untick ")),
            Kind::Upload => on(Words::of("Choose a file for ")),
            Kind::Press => {
                let keys =
                    Words::of("Press ").control(if value.is_empty() { "Enter" } else { value });
                if named {
                    keys.say(" in ").control(&self.name)
                } else {
                    keys
                }
            }
            Kind::Point => on(Words::of("Point at ")),
            Kind::Drag => on(Words::of("Drag ")).say(" to its new place"),
            Kind::Submit => Words::of("Send the form"),
            Kind::Person if named => Words::of("Do this part yourself: ").say(&self.name),
            Kind::Person => Words::of("Do this part yourself"),
        };
        match self.times {
            0 | 1 => words,
            2 => words.say(" twice"),
            n => words.say(format!(" {n} times")),
        }
    }

    fn thing(&self) -> &str {
        match self.role.as_str() {
            "" | "generic" | "none" => "control",
            "textbox" | "searchbox" => "field",
            "img" => "picture",
            role => role,
        }
    }
}

/// Long values say nothing in a caption; secrets are told by where they come from.
fn filled(words: Words, value: &str) -> Words {
    if let Some(reference) = value.strip_prefix("credential ") {
        let (name, field) = reference.split_once('.').unwrap_or((reference, "value"));
        return words
            .say(format!(" with the {field} of the "))
            .control(name)
            .say(" account");
    }
    let shown = value
        .strip_prefix("variable ")
        .map_or_else(|| tame(value, 60), |name| format!("your {name}"));
    match shown.is_empty() || shown.contains("[HIDDEN]") {
        true => words,
        false => words.say(" with ").value(&shown),
    }
}
