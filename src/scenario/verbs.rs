//! The verbs of the language: one table that drives binding, messages, help and the JSON Schema.

use super::model::{Act, Verb};
use super::shapes::{Key, Want};

/// What a step may set off, for the policy: the closed vocabulary of primitives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    Goto,
    Click,
    Fill,
    Submit,
    Wait,
    /// A flow's or the planner's own.
    Own,
    /// Reads only.
    None,
}

#[derive(Debug)]
pub struct Row {
    pub verb: Verb,
    pub key: &'static str,
    pub main: Want,
    /// Keys beside the verb that belong to it.
    pub beside: &'static [Key],
    pub primitive: Primitive,
    /// Whether `write:` may stand beside it.
    pub writes: bool,
    /// Whether it acts on the page, so that the other modifiers make sense.
    pub acts: bool,
    pub help: &'static str,
    pub example: &'static str,
}

const fn beside(name: &'static str, want: Want, required: bool, help: &'static str) -> Key {
    Key {
        name,
        want,
        required,
        help,
    }
}

const fn row(
    verb: Verb,
    key: &'static str,
    main: Want,
    primitive: Primitive,
    help: &'static str,
    example: &'static str,
) -> Row {
    Row {
        verb,
        key,
        main,
        beside: &[],
        primitive,
        writes: false,
        acts: true,
        help,
        example,
    }
}

const fn writing(row: Row) -> Row {
    Row {
        writes: true,
        ..row
    }
}

const fn with(row: Row, beside: &'static [Key]) -> Row {
    Row { beside, ..row }
}

const fn still(row: Row) -> Row {
    Row { acts: false, ..row }
}

const IN: &[Key] = &[beside(
    "in",
    Want::Target,
    false,
    "the control it happens in",
)];

pub static VERBS: &[Row] = &[
    row(
        Verb::Goto,
        "goto",
        Want::Address,
        Primitive::Goto,
        "navigates",
        "goto: /settings",
    ),
    writing(row(
        Verb::Click,
        "click",
        Want::Target,
        Primitive::Click,
        "clicks a control",
        "click: Sign in",
    )),
    writing(with(
        row(
            Verb::Fill,
            "fill",
            Want::Target,
            Primitive::Fill,
            "sets a text, number, date or rich text control",
            "{ fill: Passenger, with: Ada }",
        ),
        &[
            beside("with", Want::Value, false, "the text to type"),
            beside(
                "credential",
                Want::Text,
                false,
                "name.field of a credential, instead of `with`",
            ),
        ],
    )),
    writing(row(
        Verb::Form,
        "form",
        Want::Free(&Want::Either(&[
            Want::Value,
            Want::Map(&super::shapes::CREDENTIAL_VALUE),
        ])),
        Primitive::Fill,
        "sets several controls",
        "form: { Passenger: Ada, With bicycle: true }",
    )),
    writing(with(
        row(
            Verb::Select,
            "select",
            Want::Text,
            Primitive::Fill,
            "chooses an option",
            "{ select: Salt, in: Cargo }",
        ),
        IN,
    )),
    writing(row(
        Verb::Check,
        "check",
        Want::Target,
        Primitive::Fill,
        "ticks a box, radio or switch",
        "check: With bicycle",
    )),
    writing(row(
        Verb::Uncheck,
        "uncheck",
        Want::Target,
        Primitive::Fill,
        "clears a box or switch",
        "uncheck: With bicycle",
    )),
    writing(with(
        row(
            Verb::Press,
            "press",
            Want::Text,
            Primitive::Click,
            "presses a key or chord",
            "{ press: Enter, in: Search }",
        ),
        IN,
    )),
    row(
        Verb::Hover,
        "hover",
        Want::Target,
        Primitive::Wait,
        "points at a control",
        "hover: Products",
    ),
    with(
        row(
            Verb::Scroll,
            "scroll",
            Want::Target,
            Primitive::Wait,
            "scrolls to a control, or down, up, left, right, top, bottom",
            "{ scroll: down, in: list \"Orders\" }",
        ),
        IN,
    ),
    writing(with(
        row(
            Verb::Drag,
            "drag",
            Want::Target,
            Primitive::Click,
            "drags one control to another",
            "{ drag: Card 1, to: Done }",
        ),
        &[beside("to", Want::Target, true, "where it is dropped")],
    )),
    writing(with(
        row(
            Verb::Upload,
            "upload",
            Want::Text,
            Primitive::Fill,
            "gives a file of the suite to a file input",
            "{ upload: fixtures/a.pdf, in: Attachment }",
        ),
        IN,
    )),
    writing(row(
        Verb::Submit,
        "submit",
        Want::Target,
        Primitive::Submit,
        "submits the form that holds the target",
        "submit: Search",
    )),
    row(
        Verb::Login,
        "login",
        Want::Text,
        Primitive::Submit,
        "signs in with a credential",
        "login: code-host-user",
    ),
    row(
        Verb::Wait,
        "wait",
        Want::Either(&[Want::Target, Want::Map(&super::shapes::WAIT)]),
        Primitive::Wait,
        "waits on a condition",
        "wait: { gone: Loading }",
    ),
    row(
        Verb::WaitForUser,
        "wait_for_user",
        Want::Text,
        Primitive::Wait,
        "a person takes over for a moment",
        "wait_for_user: confirm on the phone",
    ),
    still(row(
        Verb::Expect,
        "expect",
        Want::Many(&Want::Expect),
        Primitive::None,
        "checks the page in the middle",
        "expect: { see: Saved }",
    )),
    still(row(
        Verb::Extract,
        "extract",
        Want::Extract,
        Primitive::None,
        "reads data in the middle",
        "extract: { title: h1 }",
    )),
    row(
        Verb::Use,
        "use",
        Want::Either(&[Want::Text, Want::Map(&super::shapes::USE)]),
        Primitive::Own,
        "runs a flow",
        "use: signed-in",
    ),
    row(
        Verb::Plan,
        "plan",
        Want::Text,
        Primitive::Own,
        "hands over to the planner",
        "plan: find the newest order",
    ),
    writing(row(
        Verb::Do,
        "do",
        Want::Text,
        Primitive::Own,
        "a sentence",
        "do: Open the repository demo",
    )),
];

/// Keys that may stand beside any acting verb.
pub static MODIFIERS: &[Key] = &[
    beside(
        "write",
        Want::Text,
        false,
        "what the step changes on the site",
    ),
    beside(
        "optional",
        Want::Bool,
        false,
        "true: skipped if the target is absent after 1 s",
    ),
    beside("timeout", Want::Duration, false, "how long to wait at most"),
    beside("note", Want::Text, false, "a caption for the tutorial"),
    beside(
        "picture",
        Want::Words(&["keep", "drop"]),
        false,
        "whether the tutorial shows its picture",
    ),
    beside(
        "within",
        Want::Many(&Want::Target),
        false,
        "only in this part of the page",
    ),
    beside(
        "nth",
        Want::Count(1, u32::MAX as u64),
        false,
        "which of several, from 1",
    ),
    beside(
        "dialog",
        Want::Either(&[
            Want::Words(&["accept", "dismiss"]),
            Want::Map(&super::shapes::DIALOG),
        ]),
        false,
        "how to answer dialogs of this step",
    ),
    beside(
        "opens",
        Want::Words(&["tab"]),
        false,
        "follow the tab it opens",
    ),
    beside("download", Want::Glob, false, "the file it downloads"),
    beside(
        "expect",
        Want::Many(&Want::Expect),
        false,
        "what must hold afterwards",
    ),
];

/// Modifiers of a step that only reads.
pub static STILL_MODIFIERS: &[&str] = &["timeout", "note", "picture", "within"];

pub fn row_of(verb: Verb) -> &'static Row {
    VERBS.iter().find(|r| r.verb == verb).unwrap_or(&VERBS[0])
}

pub fn row_for(key: &str) -> Option<&'static Row> {
    VERBS.iter().find(|r| r.key == key)
}

impl Row {
    pub fn takes(&self, modifier: &str) -> bool {
        match modifier {
            "write" => self.writes,
            _ => self.acts || STILL_MODIFIERS.contains(&modifier),
        }
    }

    /// Every key a step with this verb may have, the verb first.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.key)
            .chain(self.beside.iter().map(|k| k.name))
            .chain(
                MODIFIERS
                    .iter()
                    .map(|k| k.name)
                    .filter(|m| self.takes(m) && *m != self.key),
            )
    }
}

impl Act {
    /// The verb that writes this act, so that [`row_of`] says what it may do.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Goto(_) => Verb::Goto,
            Self::Click(_) => Verb::Click,
            Self::Fill { .. } => Verb::Fill,
            Self::Form(_) => Verb::Form,
            Self::Select { .. } => Verb::Select,
            Self::Check { on: true, .. } => Verb::Check,
            Self::Check { on: false, .. } => Verb::Uncheck,
            Self::Press { .. } => Verb::Press,
            Self::Hover(_) => Verb::Hover,
            Self::Scroll { .. } => Verb::Scroll,
            Self::Drag { .. } => Verb::Drag,
            Self::Upload { .. } => Verb::Upload,
            Self::Submit(_) => Verb::Submit,
            Self::Login(_) => Verb::Login,
            Self::Wait(_) => Verb::Wait,
            Self::WaitForUser(_) => Verb::WaitForUser,
            Self::Expect(_) => Verb::Expect,
            Self::Extract(_) => Verb::Extract,
            Self::Use { .. } => Verb::Use,
            Self::Plan(_) => Verb::Plan,
            Self::Sentence(phrase) => phrase.verb,
        }
    }
}

/// One line for each verb, aligned, for help texts.
pub fn help() -> String {
    VERBS
        .iter()
        .map(|r| format!("{:<14} {:<48} {}\n", r.key, r.help, r.example))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_verb_has_one_row_and_no_key_means_two_things() {
        let verbs: HashSet<_> = VERBS.iter().map(|r| r.verb).collect();
        assert_eq!(verbs.len(), VERBS.len());
        for row in VERBS {
            let keys: Vec<_> = row.keys().collect();
            let distinct: HashSet<_> = keys.iter().collect();
            assert_eq!(keys.len(), distinct.len(), "{}", row.key);
            assert!(row.example.contains(row.key));
        }
    }

    #[test]
    fn write_stands_only_beside_the_listed_verbs() {
        let may: Vec<_> = VERBS
            .iter()
            .filter(|r| r.takes("write"))
            .map(|r| r.key)
            .collect();
        assert_eq!(
            may,
            [
                "click", "fill", "form", "select", "check", "uncheck", "press", "drag", "upload",
                "submit", "do"
            ]
        );
    }
}
