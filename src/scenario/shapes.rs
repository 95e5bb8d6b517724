//! The maps of the format, as tables: which keys, of what type, with what help.
//!
//! Binding checks against them, messages quote them and the JSON Schema is made from them, so the
//! three can't drift apart. Steps have their own table, [`super::verbs`].

/// What may stand behind a key.
#[derive(Debug, Clone, Copy)]
pub enum Want {
    Text,
    /// Text, but an empty one is meant too.
    Value,
    Bool,
    /// A whole number from the first to the second.
    Count(u64, u64),
    Seconds,
    Duration,
    Glob,
    Address,
    Words(&'static [&'static str]),
    List(&'static Want),
    /// One, or a list of them.
    Many(&'static Want),
    /// Any keys.
    Free(&'static Want),
    Map(&'static Shape),
    Either(&'static [Want]),
    Target,
    Step,
    Expect,
    Extract,
    Pattern,
}

#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub want: Want,
    pub required: bool,
    pub help: &'static str,
}

#[derive(Debug)]
pub struct Shape {
    pub name: &'static str,
    pub keys: &'static [Key],
    /// One correct line, shown where something else was found.
    pub example: &'static str,
}

const fn key(name: &'static str, want: Want, help: &'static str) -> Key {
    Key {
        name,
        want,
        required: false,
        help,
    }
}

const fn required(name: &'static str, want: Want, help: &'static str) -> Key {
    Key {
        name,
        want,
        required: true,
        help,
    }
}

const TEXTS: Want = Want::List(&Want::Text);
const VALUES: Want = Want::Free(&Want::Value);
const STEPS: Want = Want::List(&Want::Step);
const EXPECTS: Want = Want::Many(&Want::Expect);
const FULL: u64 = u32::MAX as u64;

pub static SCENARIO: Shape = Shape {
    name: "scenario",
    example: "start: http://code.test/",
    keys: &[
        key(
            "name",
            Want::Text,
            "what a person calls it; the id if left out",
        ),
        key("tags", TEXTS, "words to select scenarios by"),
        key(
            "language",
            Want::Text,
            "the language of the sentences: a lexicon's name",
        ),
        key(
            "fixtures",
            TEXTS,
            "set-ups started before and torn down after",
        ),
        key("credentials", TEXTS, "names of the credentials it may use"),
        key("vars", VALUES, "variables for $(name)"),
        key(
            "hosts",
            Want::List(&Want::Either(&[Want::Text, Want::Map(&HOST)])),
            "further exact hosts that may be reached",
        ),
        required("start", Want::Address, "entry address; its host is allowed"),
        key("goal", Want::Text, "what is to be reached"),
        key("steps", STEPS, "what to do, in order"),
        key(
            "writes",
            Want::List(&Want::Map(&WRITE)),
            "requests that change something, for goals and sentences",
        ),
        key(
            "safe_requests",
            Want::List(&Want::Map(&SAFE)),
            "requests that look like writes and are reads",
        ),
        key(
            "expect",
            EXPECTS,
            "the end state; every line must hold in both looks",
        ),
        key("extract", Want::Extract, "data to read at the end"),
        key(
            "second_look",
            Want::Either(&[Want::Words(&["reload"]), Want::Duration]),
            "pause before the second look, or reload",
        ),
        key(
            "ends",
            Want::Either(&[Want::Words(STATUSES), Want::Map(&ENDS)]),
            "how it must end; completed if left out",
        ),
        key("budget", Want::Map(&BUDGET), "limits"),
        key(
            "mask",
            Want::List(&Want::Map(&MASK)),
            "what pictures and text must not show",
        ),
        key(
            "volatile",
            Want::List(&Want::Pattern),
            "text that differs between runs",
        ),
        key(
            "viewport",
            Want::Either(&[Want::Text, Want::Map(&VIEWPORT)]),
            "window size, 1280x800",
        ),
        key("locale", Want::Text, "language of the browser, en-GB"),
        key(
            "time_zone",
            Want::Text,
            "time zone of the browser, Europe/Rome",
        ),
        key(
            "network",
            Want::Words(&["inspect", "tunnel"]),
            "tunnel: for sites that refuse inspection",
        ),
        key("serial", Want::Bool, "true: never beside another scenario"),
        key(
            "tutorial",
            Want::Either(&[Want::Bool, Want::Map(&TUTORIAL)]),
            "write and compare a tutorial",
        ),
    ],
};

pub static HOST: Shape = Shape {
    name: "host",
    example: "{ host: static.code.test, private: true }",
    keys: &[
        required("host", Want::Text, "[scheme://]host[:port]"),
        key(
            "private",
            Want::Bool,
            "true: may be a loopback or private address",
        ),
    ],
};

pub static WRITE: Shape = Shape {
    name: "write",
    example: "{ what: creates README.md, request: \"POST http://code.test/*/commit\", times: 1 }",
    keys: &[
        required(
            "what",
            Want::Text,
            "what it changes, for the one who confirms",
        ),
        required("request", Want::Text, "METHOD and address glob"),
        key("times", Want::Count(1, FULL), "how often at most"),
    ],
};

pub static SAFE: Shape = Shape {
    name: "safe_request",
    example: "{ request: \"POST https://code.test/graphql\", operation: [Orders] }",
    keys: &[
        required("request", Want::Text, "METHOD and address glob"),
        key(
            "operation",
            Want::Many(&Want::Text),
            "GraphQL operations that are reads",
        ),
    ],
};

pub static STATUSES: &[&str] = &[
    "completed",
    "stuck",
    "out_of_budget",
    "failed",
    "not_completed",
    "disagreed",
    "refused",
];

pub static ENDS: Shape = Shape {
    name: "ends",
    example: "{ status: failed, reason: login_rejected, step: 2 }",
    keys: &[
        required(
            "status",
            Want::Words(STATUSES),
            "the status it must end with",
        ),
        key("reason", Want::Text, "why; needed with failed"),
        key(
            "step",
            Want::Count(1, FULL),
            "the step it must end in, from 1",
        ),
    ],
};

pub static BUDGET: Shape = Shape {
    name: "budget",
    example: "{ actions: 30, time: 120s, model_calls: 20, tokens: 50000 }",
    keys: &[
        key("actions", Want::Count(1, FULL), "actions at most"),
        key("time", Want::Duration, "time at most"),
        key("model_calls", Want::Count(0, FULL), "model calls at most"),
        key("tokens", Want::Count(0, u64::MAX), "tokens at most"),
    ],
};

pub static MASK: Shape = Shape {
    name: "mask",
    example: "{ text: \"Example Workspace\", as: workspace }",
    keys: &[
        key("text", Want::Pattern, "text to cover, or /pattern/"),
        key("target", Want::Target, "a control to cover"),
        required("as", Want::Text, "the word that stands in its place"),
    ],
};

pub static VIEWPORT: Shape = Shape {
    name: "viewport",
    example: "{ width: 1280, height: 800 }",
    keys: &[
        required("width", Want::Count(200, 8000), "CSS pixels"),
        required("height", Want::Count(200, 8000), "CSS pixels"),
    ],
};

pub static TUTORIAL: Shape = Shape {
    name: "tutorial",
    example: "{ title: Add a README, prose: rules, pictures: 5 }",
    keys: &[
        key("title", Want::Text, "its title"),
        key("prose", Want::Words(&["rules", "model"]), "who words it"),
        key("pictures", Want::Count(3, 7), "how many pictures, 3 to 7"),
    ],
};

pub static TARGET: Shape = Shape {
    name: "target",
    example: "{ role: button, name: Sign in, exact: true }",
    keys: TARGET_KEYS,
};

const TARGET_KEYS: &[Key] = &[
    key("role", Want::Text, "an ARIA role"),
    key("name", Want::Text, "the accessible name"),
    key("exact", Want::Bool, "true: only the name as written"),
    key(
        "text",
        Want::Text,
        "rendered text, for pages without usable names",
    ),
    key("testid", Want::Text, "a test id"),
    key("css", Want::Text, "a selector; draws a warning"),
];

pub static WAIT: Shape = Shape {
    name: "wait",
    example: "{ gone: status \"Loading\" }",
    keys: &[
        key("gone", Want::Target, "until this is gone"),
        key("url", Want::Glob, "until the address fits"),
        key("seconds", Want::Seconds, "a fixed time; draws a warning"),
        key("role", Want::Text, "an ARIA role"),
        key("name", Want::Text, "the accessible name"),
        key("exact", Want::Bool, "true: only the name as written"),
        key("text", Want::Text, "rendered text"),
        key("testid", Want::Text, "a test id"),
        key("css", Want::Text, "a selector; draws a warning"),
    ],
};

pub static USE: Shape = Shape {
    name: "use",
    example: "{ flow: signed-in, vars: { page: orders } }",
    keys: &[
        required("flow", Want::Text, "a flow in fixtures/"),
        key("vars", VALUES, "values for the flow's variables"),
    ],
};

pub static DIALOG: Shape = Shape {
    name: "dialog",
    example: "{ accept: text to type }",
    keys: &[required(
        "accept",
        Want::Value,
        "text to type into the question",
    )],
};

pub static EXPECT: Shape = Shape {
    name: "expect",
    example: "{ see: README.md }",
    keys: &[
        key("url", Want::Glob, "the address fits"),
        key("title", Want::Glob, "the title fits"),
        key("see", Want::Text, "the page shows this text"),
        key("not_see", Want::Text, "the page doesn't show this text"),
        key(
            "element",
            Want::Either(&[Want::Target, Want::Map(&ELEMENT)]),
            "there is such a control",
        ),
        key(
            "no_element",
            Want::Either(&[Want::Target, Want::Map(&ELEMENT)]),
            "there is no such control",
        ),
        key(
            "data",
            Want::Free(&Want::Either(&[Want::Value, Want::Map(&DATA)])),
            "extracted data",
        ),
        key("download", Want::Glob, "a file of that name was downloaded"),
        key(
            "within",
            Want::Many(&Want::Target),
            "only in this part of the page",
        ),
        key(
            "contains",
            Want::Bool,
            "with element: the name may be a part",
        ),
        key(
            "nth",
            Want::Count(1, FULL),
            "with element: which of several, from 1",
        ),
        key("value", Want::Value, "with element: its value"),
        key("checked", Want::Bool, "with element: ticked"),
        key("disabled", Want::Bool, "with element: can't be used"),
        key("expanded", Want::Bool, "with element: open"),
        key("selected", Want::Bool, "with element: selected"),
        key("pressed", Want::Bool, "with element: pressed"),
        key(
            "count",
            Want::Count(0, FULL),
            "with element: how many there are",
        ),
    ],
};

pub static ELEMENT: Shape = Shape {
    name: "element",
    example: "{ role: checkbox, name: With bicycle, checked: true }",
    keys: &[
        key("role", Want::Text, "an ARIA role"),
        key("name", Want::Text, "the accessible name"),
        key("exact", Want::Bool, "true: only the name as written"),
        key("text", Want::Text, "rendered text"),
        key("testid", Want::Text, "a test id"),
        key("css", Want::Text, "a selector; draws a warning"),
        key("contains", Want::Bool, "the name may be a part"),
        key("nth", Want::Count(1, FULL), "which of several, from 1"),
        key("value", Want::Value, "its value"),
        key("checked", Want::Bool, "ticked"),
        key("disabled", Want::Bool, "can't be used"),
        key("expanded", Want::Bool, "open"),
        key("selected", Want::Bool, "selected"),
        key("pressed", Want::Bool, "pressed"),
        key("count", Want::Count(0, FULL), "how many there are"),
    ],
};

pub static DATA: Shape = Shape {
    name: "data",
    example: "{ count: 45 }",
    keys: &[required("count", Want::Count(0, FULL), "how many entries")],
};

pub static EXTRACTOR: Shape = Shape {
    name: "extractor",
    example: "{ each: \"#orders tr\", fields: { id: td.id } }",
    keys: &[
        key("css", Want::Text, "a selector"),
        key("attr", Want::Text, "an attribute instead of the text"),
        key("each", Want::Text, "a selector; one record for each hit"),
        key("fields", Want::Extract, "what each record holds"),
        key("next", Want::Target, "the control that opens the next page"),
        key("pages", Want::Count(1, FULL), "pages at most"),
        key("prompt", Want::Text, "read by the model"),
    ],
};

pub static FIXTURE: Shape = Shape {
    name: "fixture",
    example: "command: [my-server, --port, \"$(port)\"]",
    keys: &[
        key(
            "scope",
            Want::Words(&["scenario", "worker", "run"]),
            "how long a server lives",
        ),
        key("command", Want::List(&Want::Value), "program and arguments"),
        key("serve", Want::Text, "a folder of static pages"),
        key("ready", Want::Address, "address that answers once it is up"),
        key(
            "hosts",
            Want::Either(&[
                Want::Free(&Want::Text),
                Want::List(&Want::Either(&[Want::Text, Want::Map(&HOST)])),
            ]),
            "server: name to address; flow: further hosts",
        ),
        key("reset", Want::Text, "request sent before each scenario"),
        key(
            "disposable",
            Want::Bool,
            "true: writes to it need no confirmation",
        ),
        key(
            "credentials",
            TEXTS,
            "names of the credentials the flow may use",
        ),
        key("vars", VALUES, "variables of the flow"),
        key("language", Want::Text, "the language of the sentences"),
        key("steps", STEPS, "what the flow does"),
        key("after", STEPS, "always run at the end"),
        key(
            "keep",
            Want::Words(&["session", "vault"]),
            "keep the session: for the worker, or encrypted across runs",
        ),
    ],
};

impl Shape {
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|k| k.name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.keys.iter().any(|k| k.name == name)
    }
}

pub static CREDENTIAL_VALUE: Shape = Shape {
    name: "credential_value",
    example: "{ credential: code-host-user.password }",
    keys: &[required(
        "credential",
        Want::Text,
        "name.field of a credential",
    )],
};

/// Every map of the format that is no step.
pub static ALL: &[&Shape] = &[
    &SCENARIO,
    &FIXTURE,
    &HOST,
    &WRITE,
    &SAFE,
    &ENDS,
    &BUDGET,
    &MASK,
    &VIEWPORT,
    &TUTORIAL,
    &TARGET,
    &WAIT,
    &USE,
    &DIALOG,
    &EXPECT,
    &ELEMENT,
    &DATA,
    &EXTRACTOR,
    &CREDENTIAL_VALUE,
];
