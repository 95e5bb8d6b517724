//! A model's wording: fitted, repaired or refused.

use serde_json::{Value, json};

use super::journal::add_readme;
use crate::scenario::Pattern;
use crate::tutorial::prose::{ProseError, apply, kept, request};
use crate::tutorial::{Tutorial, curate, curate_with, markdown};

fn tutorial() -> Tutorial {
    curate(&add_readme())
}

fn answer(indices: &[i64]) -> Value {
    let steps: Vec<Value> = indices
        .iter()
        .enumerate()
        .map(|(n, i)| json!({ "picture": i, "caption": format!("Do part {n}"), "text": "Then use “Commit changes”." }))
        .collect();
    json!({ "title": "Your first README", "introduction": "A repository wants a README.", "steps": steps, "conclusion": "You see “README.md”." })
}

#[test]
fn prose_words_the_tutorial_and_keeps_its_facts() {
    let rules = tutorial();
    let made = apply(&rules, &answer(&[1, 2, 3, 4, 5])).expect("applies");
    let text = markdown(&made);
    assert!(
        text.contains("# Your first README") && text.contains("Then use **Commit changes**."),
        "{text}"
    );
    assert!(
        text.contains("You sign in with the **code-host-user** account."),
        "how one signs in stays a fact: {text}"
    );
    assert_eq!(
        made.pictures().collect::<Vec<_>>(),
        rules.pictures().collect::<Vec<_>>()
    );
}

#[test]
fn r60_indices_are_repaired_or_refused() {
    let rules = tutorial();
    let captions = |indices: &[i64]| {
        apply(&rules, &answer(indices)).map(|t| {
            t.steps
                .iter()
                .map(|s| s.caption.plain())
                .collect::<Vec<_>>()
        })
    };
    let in_order = [
        "Do part 0",
        "Do part 1",
        "Do part 2",
        "Do part 3",
        "Do part 4",
    ]
    .map(String::from)
    .to_vec();
    assert_eq!(captions(&[1, 2, 3, 4, 5]), Ok(in_order.clone()));
    assert_eq!(
        captions(&[1, 1, 3, 4, 5]),
        Ok(in_order.clone()),
        "given twice"
    );
    assert_eq!(
        captions(&[0, 2, 3, 4, 99]),
        Ok(in_order.clone()),
        "out of range"
    );
    assert_eq!(
        captions(&[i64::MIN, -1, 3, 4, i64::MAX]),
        Ok(in_order),
        "far out of range"
    );
    assert_eq!(
        captions(&[2, 1, 3, 4, 5]).map(|c| c[0].clone()),
        Ok("Do part 1".into()),
        "a permutation is honoured"
    );
    assert_eq!(captions(&[1, 2]), Err(ProseError::LeftOut(3)));
    assert_eq!(
        captions(&[1; 100]),
        Err(ProseError::Steps {
            found: 100,
            most: 5
        })
    );
}

#[test]
fn f49_html_scripts_and_remote_images_are_refused() {
    for bad in [
        "<script>alert(1)</script>",
        "![p](http://evil.test/p.png)",
        "[x](y)",
        "see https://evil.test",
        "< b",
        "</p>",
    ] {
        let mut wrong = answer(&[1, 2, 3, 4, 5]);
        wrong["steps"][2]["text"] = json!(bad);
        let result = apply(&tutorial(), &wrong);
        match bad {
            // No tag, so it is text and is escaped.
            "< b" => assert!(markdown(&result.expect("text")).contains("&lt; b")),
            _ => assert!(
                matches!(result, Err(ProseError::Forbidden(_))),
                "{bad}: {result:?}"
            ),
        }
    }
}

#[test]
fn quoted_names_must_occur_in_the_run() {
    let mut wrong = answer(&[1, 2, 3, 4, 5]);
    wrong["conclusion"] = json!("Now click “Delete everything”.");
    assert_eq!(
        apply(&tutorial(), &wrong),
        Err(ProseError::Invented("Delete everything".into()))
    );
}

#[test]
fn another_shape_is_refused() {
    for wrong in [
        json!(null),
        json!([]),
        json!({ "title": "x" }),
        json!({ "title": 1, "introduction": "", "steps": [], "conclusion": "" }),
    ] {
        assert!(
            matches!(apply(&tutorial(), &wrong), Err(ProseError::Shape(_))),
            "{wrong}"
        );
    }
    let mut extra = answer(&[1, 2, 3, 4, 5]);
    extra["run"] = json!("rm -rf");
    assert!(matches!(
        apply(&tutorial(), &extra),
        Err(ProseError::Shape(_))
    ));
}

#[test]
fn prose_is_kept_while_the_workflow_is_the_same() {
    let approved = markdown(&apply(&tutorial(), &answer(&[1, 2, 3, 4, 5])).expect("applies"));
    assert!(kept(&approved, &tutorial()));
    let mut changed = add_readme();
    for event in &mut changed {
        if let crate::event::What::Acted(acted) = &mut event.what {
            acted.name = acted
                .name
                .as_ref()
                .map(|n| n.replace("Commit changes", "Save file"));
        }
    }
    assert!(!kept(&approved, &curate(&changed)));
    assert!(
        !kept(&markdown(&tutorial()), &tutorial()),
        "the rules' own text has no prose to keep"
    );
}

#[test]
fn volatile_text_does_not_change_what_prose_is_kept_for() {
    let volatile = [Pattern::Regex("Say what this is|Another message".into())];
    let mut other = add_readme();
    for event in &mut other {
        if let crate::event::What::Acted(acted) = &mut event.what {
            acted.value = acted
                .value
                .as_ref()
                .map(|v| v.replace("Say what this is", "Another message"));
        }
    }
    assert_eq!(
        curate_with(&add_readme(), &volatile).pin,
        curate_with(&other, &volatile).pin
    );
    assert_ne!(curate(&add_readme()).pin, curate(&other).pin);
}

#[test]
fn the_request_offers_only_the_steps_there_are() {
    let (prompt, schema) = request(&tutorial());
    assert!(
        prompt.contains(
            "step 5: Fill in “File content” and “Commit message”, then click “Commit changes”"
        ),
        "{prompt}"
    );
    assert_eq!(
        schema["properties"]["steps"]["items"]["properties"]["picture"]["enum"],
        json!([1, 2, 3, 4, 5])
    );
    assert!(!prompt.contains("frames/"), "no file names go out");
}
