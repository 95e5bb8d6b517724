//! The last look at an event before anybody sees it.
//!
//! What comes from pages is clean already. What an author wrote is not: a user name in a step's
//! text is nothing wrong, and stands as its placeholder all the same. Anything else that is found
//! here should have been taken out before; it is, and counts as a leak.

use serde_json::Value;

use crate::event::{Event, What};
use crate::secrets::Scrubber;

/// Words of our own, by which events are told apart and belong together.
const OWN: [&str; 7] = [
    "event", "time", "scenario", "id", "status", "verdict", "run_id",
];

/// The event without values, and `name.field` of those that are leaks.
pub fn redacted(scrubber: &Scrubber, event: Event) -> (Event, Vec<String>) {
    let Ok(mut value) = serde_json::to_value(&event) else {
        // The journal says so.
        return (event, Vec::new());
    };
    let mut found = Vec::new();
    clean(scrubber, &mut value, false, &mut found);
    if found.is_empty() {
        return (event, found);
    }
    found.sort();
    found.dedup();
    let event = match serde_json::from_value::<Event>(value) {
        Ok(clean) if !leaks_still(scrubber, &clean) => clean,
        _ => Event {
            scenario: scrubber.clean(&event.scenario).into(),
            what: What::Note {
                text: "an event held a registered value and is left out".into(),
            },
            ..event
        },
    };
    (
        event,
        found.into_iter().filter(|l| !is_user_name(l)).collect(),
    )
}

pub fn is_user_name(label: &str) -> bool {
    label.ends_with(".username")
}

/// A user name may be part of a scenario's id, which stays.
fn leaks_still(scrubber: &Scrubber, event: &Event) -> bool {
    let line = serde_json::to_vec(event).unwrap_or_default();
    scrubber.leaks(&line).iter().any(|l| !is_user_name(l))
}

/// Each text is judged as it is and not as JSON writes it: an escape in a value's middle
/// (`TIL\u001b[0mLER`) is joined again by whoever shows it.
fn clean(scrubber: &Scrubber, value: &mut Value, own: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            found.extend(scrubber.leaks(text.as_bytes()));
            if !own {
                *text = scrubber.clean(text).into();
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| clean(scrubber, item, own, found)),
        Value::Object(members) => members.iter_mut().for_each(|(key, member)| {
            let own = own || OWN.contains(&key.as_str());
            clean(scrubber, member, own, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::{Kind, Secret};

    fn scrubber() -> Scrubber {
        let scrubber = Scrubber::new();
        for (field, value, kind) in [
            ("username", "marisol", Kind::Username),
            ("password", "TILLER-3030", Kind::Password),
        ] {
            let value = Secret::new(value.into()).expect("value");
            scrubber.register("shop", field, &value, kind);
        }
        scrubber
    }

    fn note(text: &str) -> Event {
        Event {
            time: "2026-01-01T00:00:00.000Z".into(),
            at_ms: 1,
            scenario: "hello-marisol".into(),
            attempt: 1,
            seq: 1,
            what: What::Note { text: text.into() },
        }
    }

    fn text(event: &Event) -> &str {
        match &event.what {
            What::Note { text } => text,
            _ => "",
        }
    }

    #[test]
    fn case_070_what_an_author_wrote_stands_without_user_names_and_is_no_leak() {
        let (event, leaks) = redacted(&scrubber(), note("Signed in as marisol"));
        assert_eq!(text(&event), "Signed in as ‹shop.username›");
        assert_eq!(event.scenario, "hello-marisol", "what it is found by stays");
        assert!(leaks.is_empty());
        let plain = note("Signed in");
        assert_eq!(redacted(&scrubber(), plain.clone()), (plain, Vec::new()));
    }

    #[test]
    fn case_070_any_other_value_is_taken_out_and_told() {
        for written in [
            "TILLER-3030",
            "0303-RELLIT",
            "VklMTEVSLTMwMzA TILLER-3030",
            "TILLER\u{1b}[0m-3030",
            "TILLER\u{1b}]0;x\u{7}-3030",
        ] {
            let (event, leaks) = redacted(&scrubber(), note(written));
            let line = serde_json::to_string(&event).expect("JSON");
            assert!(!line.contains("TILLER"), "{line}");
            assert!(text(&event).contains("‹shop.password›"), "{written}");
            assert_eq!(leaks, ["shop.password"], "{written}");
        }
        let mut event = note("fine");
        event.scenario = "TILLER-3030".into();
        let (event, leaks) = redacted(&scrubber(), event);
        assert!(text(&event).contains("is left out"));
        assert!(!event.scenario.contains("TILLER"), "{event:?}");
        assert_eq!(leaks, ["shop.password"]);
    }
}
