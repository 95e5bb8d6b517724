//! Builds the events of one attempt, with frames on disk where a test wants them.

use std::collections::BTreeMap;
use std::path::Path;

use image::{Rgb, RgbImage};

use crate::event::*;

pub struct Play {
    pub events: Vec<Event>,
    clock: u64,
    step: u32,
}

/// What one step does.
#[derive(Default, Clone)]
pub struct Do<'a> {
    pub verb: &'a str,
    pub says: &'a str,
    pub written: &'a str,
    pub role: &'a str,
    pub name: &'a str,
    pub value: Option<&'a str>,
    /// The page it is done on, and the page after.
    pub on: &'a str,
    pub to: &'a str,
    pub note: Option<&'a str>,
    pub picture: Option<&'a str>,
    pub write: Option<&'a str>,
    pub by: Option<&'a str>,
    pub status: Option<Status>,
    pub target: Option<[i32; 4]>,
}

impl Play {
    pub fn new(name: &str, goal: &str, start: &str) -> Self {
        let mut play = Self {
            events: Vec::new(),
            clock: 11,
            step: 0,
        };
        play.say(What::ScenarioStarted(ScenarioStarted {
            name: name.into(),
            goal: Some(goal.into()),
            start: start.into(),
            tutorial: true,
            tutorial_title: None,
            tutorial_pictures: None,
            digest: "d".into(),
        }));
        play.step(Do {
            verb: "goto",
            says: &format!("Go to {start}"),
            written: "start",
            on: "",
            to: start,
            ..Do::default()
        });
        play
    }

    pub fn say(&mut self, what: What) {
        self.clock += 13;
        self.events.push(Event {
            time: format!("2026-11-30T12:00:{:02}.000Z", self.clock / 1000 % 60),
            at_ms: self.clock,
            scenario: "code-host/add-readme".into(),
            attempt: 1,
            seq: self.events.len() as u32 + 1,
            what,
        });
    }

    pub fn step(&mut self, one: Do) -> &mut Self {
        let place = match one.by {
            Some("planner") => format!("p{}", self.step),
            _ => self.step.to_string(),
        };
        self.step += 1;
        let status = one.status.unwrap_or(Status::Passed);
        self.say(What::StepStarted(StepStarted {
            step: place.clone(),
            says: one.says.into(),
            written: one.written.into(),
            verb: one.verb.into(),
            line: Some(self.step + 4),
            note: one.note.map(Into::into),
            picture: one.picture.map(Into::into),
            write: one.write.map(Into::into),
            by: one.by.unwrap_or("author").into(),
        }));
        if status == Status::Passed && !matches!(one.verb, "wait" | "expect") {
            self.say(What::Acted(Acted {
                step: place.clone(),
                primitive: primitive(one.says, one.verb).into(),
                says: one.says.into(),
                url: one.on.into(),
                effect: None,
                role: Some(one.role.to_owned()).filter(|r| !r.is_empty()),
                name: Some(one.name.to_owned()).filter(|n| !n.is_empty()),
                value: one.value.map(Into::into),
                reason: None,
            }));
        }
        self.say(What::Frame(Frame {
            step: place.clone(),
            file: Some(format!("frames/{:04}.png", self.events.len())),
            hash: None,
            withheld: None,
            url: one.to.into(),
            width: 1280,
            height: 800,
            target: one
                .target
                .or((status == Status::Passed).then_some([40, 120, 200, 36])),
            point: (one.verb == "click").then_some([120, 138]),
            redactions: vec![Redaction {
                rect: [400, 300, 200, 30],
                reason: "password field".into(),
            }],
            unsettled: false,
        }));
        let failure = (status != Status::Passed).then(|| Failure {
            reason: "not_found".into(),
            message: "no button named “Save” on the page".into(),
            ..Failure::default()
        });
        self.clock += 170;
        self.say(What::StepFinished(StepFinished {
            step: place,
            status,
            failure,
            notes: Vec::new(),
            ms: 170,
        }));
        self
    }

    pub fn looked(&mut self, url: &str, lines: &[&str]) -> &mut Self {
        for look in ["first", "second"] {
            self.say(What::Looked(Looked {
                look: look.into(),
                findings: lines
                    .iter()
                    .map(|line| Finding {
                        line: (*line).into(),
                        holds: true,
                        saw: String::new(),
                    })
                    .collect(),
                url: url.into(),
                title: String::new(),
            }));
        }
        self.say(What::Frame(Frame {
            step: END.into(),
            file: Some(format!("frames/{:04}.png", self.events.len())),
            hash: None,
            withheld: None,
            url: url.into(),
            width: 1280,
            height: 800,
            target: None,
            point: None,
            redactions: Vec::new(),
            unsettled: false,
        }));
        self
    }

    pub fn finish(
        &mut self,
        status: Status,
        message: &str,
        failed: Option<&str>,
        signed_in_by: Option<&str>,
    ) -> Vec<Event> {
        self.say(What::ScenarioFinished(ScenarioFinished {
            status,
            reason: "completed".into(),
            message: message.into(),
            failed_step: failed.map(Into::into),
            as_expected: status == Status::Passed,
            signed_in_by: signed_in_by.map(Into::into),
            wrote: false,
            ms: self.clock,
            choosers: BTreeMap::new(),
            model_calls: 0,
            tokens: 0,
            ms_by_part: BTreeMap::new(),
        }));
        self.events.clone()
    }
}

fn primitive<'a>(says: &str, verb: &'a str) -> &'a str {
    match says.split(' ').next() {
        Some("Select" | "Check" | "Uncheck" | "Fill" | "Upload") => "fill",
        Some("Press") => "click",
        _ => match verb {
            "login" => "submit",
            verb => verb,
        },
    }
}

pub const HOME: &str = "http://code.test/";
pub const LOGIN: &str = "http://code.test/login";
pub const REPO: &str = "http://code.test/ada/demo";
pub const EDIT: &str = "http://code.test/ada/demo/new";

/// The main workflow, with a failed try and waits in between.
pub fn add_readme() -> Vec<Event> {
    let mut play = Play::new(
        "Add a README to an empty repository",
        "Sign in as the test user and add a README to the repository demo.",
        HOME,
    );
    play.step(Do {
        verb: "click",
        says: "Click link \"Sign in\"",
        written: "click: Sign in",
        role: "link",
        name: "Sign in",
        on: HOME,
        to: LOGIN,
        ..Do::default()
    })
    .step(Do {
        verb: "login",
        says: "Sign in with code-host-user",
        written: "login: code-host-user",
        on: LOGIN,
        to: "http://code.test/ada",
        ..Do::default()
    })
    .step(Do {
        verb: "wait",
        says: "Wait for heading",
        written: "wait: Your repositories",
        on: "http://code.test/ada",
        to: "http://code.test/ada",
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click button \"Close\"",
        written: "click: Close",
        role: "button",
        name: "Close",
        on: "http://code.test/ada",
        to: "http://code.test/ada",
        status: Some(Status::Skipped),
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click link \"demo\"",
        written: "Open the repository demo",
        role: "link",
        name: "demo",
        on: "http://code.test/ada",
        to: REPO,
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click link \"Add a README\"",
        written: "click: Add a README",
        role: "link",
        name: "Add a README",
        on: REPO,
        to: EDIT,
        ..Do::default()
    })
    .step(Do {
        verb: "fill",
        says: "Fill textbox \"File content\" with \"# demo\"",
        written: "fill: File content",
        role: "textbox",
        name: "File content",
        value: Some("# demo"),
        on: EDIT,
        to: EDIT,
        target: Some([60, 200, 700, 300]),
        ..Do::default()
    })
    .step(Do {
        verb: "fill",
        says: "Fill textbox \"Commit message\" with \"Say what this is\"",
        written: "fill: Commit message",
        role: "textbox",
        name: "Commit message",
        value: Some("Say what this is"),
        on: EDIT,
        to: EDIT,
        target: Some([60, 560, 700, 36]),
        ..Do::default()
    })
    .step(Do {
        verb: "expect",
        says: "Expect",
        written: "expect",
        on: EDIT,
        to: EDIT,
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click button \"Commit changes\"",
        written: "click: Commit changes",
        role: "button",
        name: "Commit changes",
        write: Some("creates README.md in demo"),
        on: EDIT,
        to: REPO,
        target: Some([60, 620, 160, 40]),
        ..Do::default()
    })
    .looked(
        REPO,
        &[
            "url: http://code.test/*/demo",
            "see: README.md",
            "not_see: Quick setup",
            "element: heading \"demo\"",
        ],
    );
    play.finish(Status::Passed, "", None, Some("credential"))
}

/// Puts a picture below `folder` for every frame, each one different.
pub fn frames(folder: &Path, events: &[Event]) {
    std::fs::create_dir_all(folder.join("frames")).expect("folder");
    let mut image = RgbImage::from_fn(1280, 800, |x, y| Rgb([(x / 16) as u8, (y / 16) as u8, 90]));
    for (i, event) in events.iter().enumerate() {
        if let What::Frame(frame) = &event.what {
            image.put_pixel(0, 0, Rgb([0, 0, i as u8]));
            let path = folder.join(frame.file.as_ref().expect("file"));
            image.save(path).expect("save");
        }
    }
}
