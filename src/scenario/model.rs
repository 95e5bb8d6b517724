//! The authored shape of a scenario, a flow and a fixture. Strings hold the text as written
//! (`$(…)` not yet replaced); [`crate::plan`] binds them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::text::{Source, Span, Spanned};

#[derive(Debug, Clone)]
pub struct Scenario {
    /// Path below `scenarios/` without the ending, `/` between parts.
    pub id: String,
    pub source: Arc<Source>,
    pub name: Spanned<String>,
    pub tags: Vec<Spanned<String>>,
    pub language: Spanned<String>,
    pub fixtures: Vec<Spanned<String>>,
    pub credentials: Vec<Spanned<String>>,
    pub vars: BTreeMap<String, Spanned<String>>,
    pub hosts: Vec<HostEntry>,
    pub start: Spanned<String>,
    pub goal: Option<Spanned<String>>,
    pub steps: Vec<Step>,
    pub writes: Vec<WriteRule>,
    pub safe_requests: Vec<SafeRequest>,
    pub expect: Vec<Expectation>,
    pub extract: Option<Extract>,
    pub second_look: Option<SecondLook>,
    pub ends: Ends,
    pub budget: Budget,
    pub mask: Vec<Mask>,
    pub volatile: Vec<Pattern>,
    pub viewport: Option<Viewport>,
    pub locale: Option<String>,
    pub time_zone: Option<String>,
    pub network: Option<NetworkMode>,
    pub serial: bool,
    pub tutorial: Option<TutorialWish>,
}

/// A host as written: `[scheme://]host[:port]` or `{ host, private }`. Canonicalised by `policy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    pub host: Spanned<String>,
    pub private: bool,
}

/// `writes: [ { what, request: "METHOD glob", times } ]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRule {
    pub what: Spanned<String>,
    pub request: Spanned<String>,
    /// `None`: any number of times.
    pub times: Option<u32>,
}

/// `safe_requests: [ { request: "POST https://…/graphql", operation: [Orders] } ]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeRequest {
    pub request: Spanned<String>,
    pub operation: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondLook {
    After(Duration),
    Reload,
}

/// How the scenario must end; `ends: completed` unless written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ends {
    /// `completed`, `stuck`, `failed`, `refused`, …
    pub status: EndStatus,
    pub reason: Option<String>,
    /// Counts from 1.
    pub step: Option<usize>,
    pub span: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndStatus {
    #[default]
    Completed,
    Stuck,
    OutOfBudget,
    Failed,
    NotCompleted,
    Disagreed,
    Refused,
}

impl EndStatus {
    /// In the order of their words in the table of shapes.
    pub const ALL: [Self; 7] = [
        Self::Completed,
        Self::Stuck,
        Self::OutOfBudget,
        Self::Failed,
        Self::NotCompleted,
        Self::Disagreed,
        Self::Refused,
    ];

    /// As it is written.
    pub fn word(self) -> &'static str {
        super::shapes::STATUSES[self as usize]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    pub actions: Option<u32>,
    pub time: Option<Duration>,
    pub model_calls: Option<u32>,
    pub tokens: Option<u64>,
}

/// Text is literal, `/…/` a pattern (checked when read).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    Literal(String),
    Regex(String),
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Literal(text) => write!(f, "\"{text}\""),
            Self::Regex(pattern) => write!(f, "/{pattern}/"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Mask {
    pub what: MaskWhat,
    /// The placeholder's word: `workspace` in `‹workspace›`.
    pub name: String,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum MaskWhat {
    Text(Pattern),
    Target(Target),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewport {
    pub width: u32,
    pub height: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkMode {
    #[default]
    Inspect,
    Tunnel,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TutorialWish {
    pub title: Option<String>,
    /// `prose: model`
    pub model_prose: bool,
    /// 3..=7
    pub pictures: Option<u8>,
}

// ---- targets -------------------------------------------------------------------------------

/// How a control, or a place on the page, is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub by: By,
    /// The place it was written at; equal targets may differ here.
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// Role and name; `role: None` means any role that fits the verb, `name: None` any name.
    Name {
        role: Option<String>,
        name: Option<String>,
        exact: bool,
    },
    Text(String),
    TestId(String),
    Css(String),
}

/// A target with what stands beside the verb.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// Outermost last, as written: `within: row "Order 7"`; a list narrows further.
    pub within: Vec<Target>,
    /// From 1.
    pub nth: Option<usize>,
}

// ---- steps ---------------------------------------------------------------------------------

#[derive(Debug, Clone)]
pub struct Step {
    pub act: Act,
    pub span: Span,
    /// The step as written, one line, before `$(…)` is replaced: the key of its lock entry.
    pub written: String,
    pub scope: Scope,
    pub write: Option<Spanned<String>>,
    pub optional: bool,
    pub timeout: Option<Duration>,
    pub note: Option<String>,
    pub picture: Option<Picture>,
    pub dialog: Option<DialogAnswer>,
    pub opens_tab: bool,
    pub download: Option<String>,
    pub expect: Vec<Expectation>,
    /// Set where the step came out of a sentence: what it said.
    pub sentence: Option<String>,
}

impl Step {
    /// A step that no file holds, with no modifiers.
    pub fn unwritten(act: Act) -> Self {
        Self {
            act,
            span: Span::default(),
            written: String::new(),
            scope: Scope::default(),
            write: None,
            optional: false,
            timeout: None,
            note: None,
            picture: None,
            dialog: None,
            opens_tab: false,
            download: None,
            expect: Vec::new(),
            sentence: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    Keep,
    Drop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogAnswer {
    Accept(Option<String>),
    Dismiss,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Goto(String),
    Click(Target),
    Fill {
        target: Target,
        value: Value,
    },
    /// In the order written; each its own primitive.
    Form(Vec<(Target, FormValue)>),
    Select {
        option: String,
        target: Option<Target>,
    },
    Check {
        target: Target,
        on: bool,
    },
    Press {
        keys: String,
        target: Option<Target>,
    },
    Hover(Target),
    Scroll {
        to: ScrollTo,
        target: Option<Target>,
    },
    Drag {
        target: Target,
        to: Target,
    },
    Upload {
        file: PathBuf,
        target: Option<Target>,
    },
    Submit(Target),
    Login(String),
    Wait(WaitFor),
    WaitForUser(String),
    Expect(Vec<Expectation>),
    Extract(Extract),
    Use {
        flow: String,
        vars: BTreeMap<String, String>,
    },
    Plan(String),
    /// A sentence the grammar could not reduce to one act by itself: verb known, target a phrase
    /// that rules, the lock or the model resolve on the page. `value` for fill and select.
    Sentence(Phrase),
}

/// What the lexicon made of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    pub verb: Verb,
    /// The target as the sentence says it ("the repository demo"), folded to the words that name it.
    pub target: String,
    /// A role word the sentence used ("button", "link"), as ARIA role.
    pub role: Option<String>,
    pub value: Option<Value>,
    pub text: String,
    /// Where a preposition stands twice ("Enter 12 in Destination in port"): other targets and values it
    /// may mean. The page decides, by a name it has exactly.
    pub others: Vec<(String, Value)>,
}

/// The closed set of verbs (one table in `scenario::verbs` gives key, shape, effect and help).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    Goto,
    Click,
    Fill,
    Form,
    Select,
    Check,
    Uncheck,
    Press,
    Hover,
    Scroll,
    Drag,
    Upload,
    Submit,
    Login,
    Wait,
    WaitForUser,
    Expect,
    Extract,
    Use,
    Plan,
    Do,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    /// `credential: name.field`
    Credential {
        name: String,
        field: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormValue {
    Value(Value),
    /// A bare `true` or `false` on a box, radio or switch; text elsewhere, as written.
    Bool(bool),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScrollTo {
    Target(Target),
    Down,
    Up,
    Left,
    Right,
    Top,
    Bottom,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitFor {
    Target(Target),
    Gone(Target),
    Url(String),
    Seconds(Duration),
}

// ---- expectations --------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    pub line: ExpectLine,
    pub within: Vec<Target>,
    pub span: Span,
}

impl Expectation {
    /// Everything of the page it names.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let named = match &self.line {
            ExpectLine::Element(wanted) | ExpectLine::NoElement(wanted) => Some(&wanted.target),
            _ => None,
        };
        self.within.iter().chain(named)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectLine {
    Url(String),
    Title(String),
    See(String),
    NotSee(String),
    Element(ElementExpect),
    NoElement(ElementExpect),
    /// `data: { orders: { count: 45 }, "orders[0].id": "1001" }`
    Data(Vec<(String, DataExpect)>),
    Download(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementExpect {
    pub target: Target,
    pub contains: bool,
    pub nth: Option<usize>,
    pub value: Option<String>,
    pub checked: Option<bool>,
    pub disabled: Option<bool>,
    pub expanded: Option<bool>,
    pub selected: Option<bool>,
    pub pressed: Option<bool>,
    pub count: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataExpect {
    Is(String),
    Count(usize),
}

// ---- extraction ----------------------------------------------------------------------------

/// Fields in the order written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extract {
    pub fields: Vec<(Spanned<String>, Extractor)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extractor {
    Css {
        css: String,
        attr: Option<String>,
    },
    Each {
        each: String,
        fields: Vec<(String, Extractor)>,
        next: Option<Target>,
        pages: Option<u32>,
    },
    Prompt(String),
}

// ---- flows and fixtures --------------------------------------------------------------------

/// A file in `fixtures/`.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// File name without ending.
    pub name: String,
    pub source: Arc<Source>,
    pub scope: FixtureScope,
    pub kind: FixtureKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FixtureScope {
    Scenario,
    #[default]
    Worker,
    Run,
}

#[derive(Debug, Clone)]
pub enum FixtureKind {
    Server(Server),
    Flow(Flow),
}

#[derive(Debug, Clone)]
pub struct Server {
    pub serves: Serves,
    /// Address polled until it answers 2xx; `$(port)` is a free port chosen by the runner.
    pub ready: Option<Spanned<String>>,
    /// Name used in scenarios → `address:port` where it is served.
    pub hosts: Vec<(Spanned<String>, Spanned<String>)>,
    /// `POST http://…`
    pub reset: Option<Spanned<String>>,
    pub disposable: bool,
}

#[derive(Debug, Clone)]
pub enum Serves {
    Command(Vec<Spanned<String>>),
    /// Static pages from a folder of the suite.
    Folder(PathBuf),
}

/// Steps under a name: `use: name`, or a fixture that runs after `start` is open.
#[derive(Debug, Clone)]
pub struct Flow {
    pub credentials: Vec<Spanned<String>>,
    pub vars: BTreeMap<String, Spanned<String>>,
    pub hosts: Vec<HostEntry>,
    pub steps: Vec<Step>,
    /// Always run when the scenario ends.
    pub after: Vec<Step>,
    pub keep: Option<Keep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Session,
    Vault,
}
