//! Against a real HTTP server in this process, which behaves as badly as servers do.

mod answers;
mod candidates;
mod client;
mod counter;
mod extract;
mod misbehaving;
mod planner;
mod prompts;
mod server;
mod settings;
mod tape;

use std::time::Duration;

use serde_json::{Value, json};

use super::settings::{Base, ModelSettings, Patience};
use super::{Asked, Asking, Choice, Egress, Ids, Model, NoSecrets, Offer, Purpose, Question, Tape};
use crate::page::observation::{Document, Node, Observation, Rect};
use crate::scenario::model::Verb;

/// One control with a box.
pub fn control(role: &str, name: &str) -> Node {
    Node {
        role: role.into(),
        name: name.into(),
        interactive: true,
        reachable: true,
        tag: "x-tag".into(),
        rect: Some(Rect {
            x: 0.0,
            y: 0.0,
            width: 10.0,
            height: 10.0,
        }),
        ..Node::default()
    }
}

pub fn place(role: &str, name: &str) -> Node {
    Node {
        interactive: false,
        ..control(role, name)
    }
}

pub fn inside(parent: u32, node: Node) -> Node {
    Node {
        parent: Some(parent),
        ..node
    }
}

pub fn page(nodes: Vec<Node>) -> Observation {
    Observation {
        generation: 7,
        url: "http://code.test/ada/demo?token=t0ps3cret#frag".into(),
        title: "Demo".into(),
        documents: vec![Document {
            context: "ctx-1".into(),
            url: "http://code.test/ada/demo".into(),
            text: "Quick setup".into(),
            nodes,
            ready: true,
            ..Document::default()
        }],
        sought: Vec::new(),
        unread: Vec::new(),
    }
}

pub fn ten_controls() -> Observation {
    page(vec![
        control("link", "Home"),
        control("link", "Pull requests"),
        control("textbox", "Search"),
        control("button", "Sign in"),
        control("link", "demo"),
        control("link", "notes"),
        control("button", "New repository"),
        control("checkbox", "Only mine"),
        control("combobox", "Sort by"),
        control("button", "Save voyage plan"),
    ])
}

pub fn offer(page: &Observation, words: &str) -> Offer {
    let purpose = Purpose {
        verb: Some(Verb::Click),
        words: words.into(),
        limit: None,
    };
    Offer::new(page, &purpose, 0, &mut Ids::default())
}

pub fn settings(base: &str) -> ModelSettings {
    ModelSettings {
        base: Base::parse(base, "OPENAI_API_KEY").unwrap(),
        model: "small".into(),
        key: Some("sk-canary-77aa".to_owned().into()),
        vision: false,
        timeout: Duration::from_secs(20),
        max_tokens: 2048,
        temperature: None,
        patience: Patience {
            tries: 3,
            first_pause: Duration::from_millis(2),
            longest_pause: Duration::from_millis(20),
            idle: Duration::from_secs(5),
        },
    }
}

pub fn model(settings: ModelSettings) -> Model {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Model::from_settings(Some(settings), Tape::Off)
        .unwrap()
        .unwrap()
}

/// Asks which control "Save" is on the page of ten.
pub async fn choose(model: &Model, egress: &dyn Egress) -> Asked<Choice> {
    let page = ten_controls();
    let offer = offer(&page, "save voyage plan");
    let question = Question {
        verb: Verb::Click,
        sentence: "Save the voyage plan",
        target: "the voyage plan",
        page: &page,
        offer: &offer,
        history: &[],
    };
    model.choose(&Asking::new(egress), &question).await
}

pub async fn choose_plainly(model: &Model) -> Asked<Choice> {
    choose(model, &NoSecrets).await
}

/// A completion with this text, as most servers send it.
pub fn says(content: &str) -> Value {
    json!({
        "id": "c1", "object": "chat.completion", "model": "small",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": content },
        }],
        "usage": { "prompt_tokens": 300, "completion_tokens": 9, "total_tokens": 309 },
    })
}

/// What the right answer leads to: "Save voyage plan", the tenth node of the page.
pub fn is_save(choice: &Choice) -> bool {
    matches!(choice, Choice::Node { node, .. } if node.node == 9 && node.generation == 7)
}

/// Ranked by the words, "Save voyage plan" comes first.
pub const SAVE: &str = r#"{"id":"e1"}"#;

/// A scrubber that knows one value.
pub struct Knows(pub &'static str);

impl Egress for Knows {
    fn refuse(&self, text: &str) -> Option<String> {
        text.contains(self.0).then(|| "code-host-user".to_owned())
    }
    fn clean(&self, text: &str) -> String {
        text.replace(self.0, "‹code-host-user.password›")
    }
}
