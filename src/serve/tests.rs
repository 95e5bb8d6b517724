//! Consent, tokens and the audit log, without a browser.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::broker::DocumentId;
use crate::secrets::{Kind, Scrubber, Secret};

use super::audit::{Audit, Entry};
use super::consent::{Approvals, Bound, Invalid, Opens, Question, Refused, Risk};
use super::tokens::Tokens;

fn bound() -> Bound {
    Bound {
        owner: "ada".into(),
        session: "s1".into(),
        action: [1; 32],
        document: Some(DocumentId {
            context: "c".into(),
            loads: 3,
            top: "http://a.test/".into(),
            frame: "http://a.test/".into(),
        }),
        target: [2; 32],
        allow_version: 1,
    }
}

fn question() -> Question {
    Question {
        risk: Risk::Submit,
        summary: vec!["Click button \"Pay\".".into()],
        picture: Some(b"png".to_vec()),
        bound: bound(),
        opens: Opens::default(),
        then: Default::default(),
    }
}

/// Approvals with a clock that stands until it is set.
fn clocked() -> (Approvals, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(1000));
    let clock = now.clone();
    let read = move || Duration::from_secs(clock.load(Ordering::SeqCst));
    (Approvals::with_clock(Box::new(read)), now)
}

fn approved(approvals: &Approvals) -> (String, String) {
    let id = approvals.ask(question()).expect("asked").approval_id;
    assert!(approvals.decide(&id, true));
    let token = approvals.claim("ada", "s1", &id);
    let token = token.expect("valid").expect("approved");
    (id, token.expose().to_owned())
}

#[test]
fn r80_a_token_is_opaque_and_works_once() {
    let (approvals, _) = clocked();
    let (id, token) = approved(&approvals);
    let (_, other) = approved(&approvals);
    assert!(token.starts_with("rhc_") && token.len() == 47, "{token}");
    assert_ne!(token, other);
    assert_eq!(approvals.take(&id, &token, &bound()), Ok(Opens::default()));
    let again = approvals.take(&id, &token, &bound());
    assert_eq!(again, Err(Invalid::Unknown));
}

#[test]
fn r81_one_changed_field_and_it_does_not_hold() {
    type Change = fn(&mut Bound);
    let changes: [(Change, Invalid); 9] = [
        (|b| b.action[31] ^= 1, Invalid::Action),
        (|b| b.target[0] ^= 1, Invalid::Page),
        (|b| b.allow_version += 1, Invalid::Hosts),
        (|b| b.document = None, Invalid::Document),
        (|b| change(b, |d| d.loads += 1), Invalid::Document),
        (|b| change(b, |d| d.context.push('2')), Invalid::Document),
        (|b| change(b, |d| d.top.push('x')), Invalid::Document),
        (|b| change(b, |d| d.frame.push('x')), Invalid::Document),
        (|b| b.owner = "bob".into(), Invalid::Foreign),
    ];
    for (index, (change, why)) in changes.into_iter().enumerate() {
        let (approvals, _) = clocked();
        let (id, token) = approved(&approvals);
        let mut other = bound();
        change(&mut other);
        assert_eq!(approvals.take(&id, &token, &other), Err(why), "{index}");
        // Used up by trying, unless it was another's guess.
        let then = approvals.take(&id, &token, &bound());
        assert_eq!(then.is_ok(), why == Invalid::Foreign, "{index}");
    }
}

fn change(bound: &mut Bound, change: impl Fn(&mut DocumentId)) {
    if let Some(document) = &mut bound.document {
        change(document);
    }
}

#[test]
fn tokens_of_the_wrong_length_or_alphabet_are_refused() {
    for spoil in [
        |t: &str| t[..t.len() - 1].to_owned(),
        |t: &str| format!("{t}A"),
        |t: &str| t.replace("rhc_", ""),
        |_: &str| String::new(),
        |t: &str| format!("{}\u{e9}", &t[..t.len() - 1]),
    ] {
        let (approvals, _) = clocked();
        let (id, token) = approved(&approvals);
        let spoiled = spoil(&token);
        assert_eq!(
            approvals.take(&id, &spoiled, &bound()),
            Err(Invalid::Token),
            "{spoiled}"
        );
    }
}

#[test]
fn an_approval_expires_to_the_second_unanswered_and_unused() {
    for (later, holds) in [(119, true), (120, false), (86_400, false)] {
        let (approvals, now) = clocked();
        let (id, token) = approved(&approvals);
        now.fetch_add(later, Ordering::SeqCst);
        let taken = approvals.take(&id, &token, &bound());
        assert_eq!(taken.is_ok(), holds, "{later}");
    }
    let (approvals, now) = clocked();
    let id = approvals.ask(question()).expect("asked").approval_id;
    now.fetch_add(120, Ordering::SeqCst);
    assert!(approvals.pending().is_empty());
    assert!(!approvals.decide(&id, true), "answered too late");
}

#[test]
fn undecided_and_denied_open_nothing_and_a_restart_forgets() {
    let (approvals, _) = clocked();
    let id = approvals.ask(question()).expect("asked").approval_id;
    assert!(approvals.claim("ada", "s1", &id).expect("valid").is_none());
    assert!(matches!(
        approvals.claim("bob", "s1", &id),
        Err(Invalid::Foreign)
    ));
    assert!(approvals.decide(&id, false));
    assert!(!approvals.decide(&id, true), "an answer stands");
    assert!(matches!(
        approvals.claim("ada", "s1", &id),
        Err(Invalid::Denied)
    ));
    let (id, token) = approved(&approvals);
    let (restarted, _) = clocked();
    let taken = restarted.take(&id, &token, &bound());
    assert_eq!(taken, Err(Invalid::Unknown));
    approvals.forget_session("s1");
    let taken = approvals.take(&id, &token, &bound());
    assert_eq!(taken, Err(Invalid::Unknown));
}

#[test]
fn r33_actions_of_one_consent_are_used_up_in_their_order() {
    let action = |number: u8| Bound {
        action: [number; 32],
        ..bound()
    };
    let opens = |name: &str| Opens {
        download: Some(name.to_owned()),
        ..Opens::default()
    };
    let given = |approvals: &Approvals| {
        let whole = Question {
            bound: action(1),
            opens: opens("1"),
            then: [(action(2), opens("2")), (action(3), opens("3"))].into(),
            ..question()
        };
        let id = approvals.ask(whole).expect("asked").approval_id;
        assert!(approvals.decide(&id, true));
        let token = approvals.claim("ada", "s1", &id);
        let token = token.expect("valid").expect("approved");
        (id, token.expose().to_owned())
    };
    let (approvals, _) = clocked();
    let (id, token) = given(&approvals);
    for number in 1..=3 {
        let taken = approvals.take(&id, &token, &action(number));
        assert_eq!(taken, Ok(opens(&number.to_string())));
    }
    let again = approvals.take(&id, &token, &action(3));
    assert_eq!(again, Err(Invalid::Unknown));
    // One out of its turn ends all that is left; and so does a page that changed in the middle.
    type Spoil = (fn(&mut Bound), Invalid);
    let spoils: [Spoil; 3] = [
        (|b| b.action = [3; 32], Invalid::Action),
        (|b| b.action = [1; 32], Invalid::Action),
        (|b| b.target[0] ^= 1, Invalid::Page),
    ];
    for (spoil, why) in spoils {
        let (id, token) = given(&approvals);
        assert!(approvals.take(&id, &token, &action(1)).is_ok());
        let mut second = action(2);
        spoil(&mut second);
        assert_eq!(approvals.take(&id, &token, &second), Err(why));
        let rest = approvals.take(&id, &token, &action(2));
        assert_eq!(rest, Err(Invalid::Unknown));
    }
    // Given up halfway, by its owner alone.
    let (id, token) = given(&approvals);
    approvals.withdraw("bob", "s1", &id);
    assert!(approvals.take(&id, &token, &action(1)).is_ok());
    approvals.withdraw("ada", "s1", &id);
    let rest = approvals.take(&id, &token, &action(2));
    assert_eq!(rest, Err(Invalid::Unknown));
    // A token used late: the gate's time is that of all its actions.
    let (approvals, now) = clocked();
    let (id, token) = given(&approvals);
    assert!(approvals.take(&id, &token, &action(1)).is_ok());
    now.fetch_add(120, Ordering::SeqCst);
    let late = approvals.take(&id, &token, &action(2));
    assert_eq!(late, Err(Invalid::Expired));
}

#[test]
fn of_two_presenters_one_wins() {
    let (approvals, now) = clocked();
    for _ in 0..1000 {
        now.fetch_add(7, Ordering::SeqCst);
        let (id, token) = approved(&approvals);
        let wins = std::thread::scope(|scope| {
            let tries =
                [0, 1].map(|_| scope.spawn(|| approvals.take(&id, &token, &bound()).is_ok()));
            tries.map(|t| t.join().expect("a thread"))
        });
        assert_eq!(wins.iter().filter(|won| **won).count(), 1);
    }
}

#[test]
fn t22_a_person_is_not_flooded() {
    let (approvals, now) = clocked();
    for _ in 0..8 {
        approvals.ask(question()).expect("asked");
    }
    assert!(matches!(approvals.ask(question()), Err(Refused::Pending)));
    for shown in approvals.pending() {
        approvals.decide(&shown.id, false);
    }
    approvals.ask(question()).expect("asked");
    approvals.ask(question()).expect("asked");
    assert!(matches!(approvals.ask(question()), Err(Refused::TooOften)));
    now.fetch_add(60, Ordering::SeqCst);
    approvals.ask(question()).expect("asked again");
}

#[test]
fn tokens_are_kept_as_hashes_in_a_file_of_ones_own() {
    let dir = tempfile::tempdir().expect("a folder");
    let state = dir.path().join("serve");
    let tokens = Tokens::at(&state);
    assert!(tokens.add("No Name").is_err());
    let ada = tokens.add("ada").expect("a token");
    let second = tokens.add("ada").expect("a token");
    let bob = tokens.add("bob").expect("a token");
    let approver = tokens.set_approver().expect("a token");
    let file = state.join("tokens.json");
    let text = std::fs::read_to_string(&file).expect("the file");
    for token in [&ada, &second, &bob, &approver] {
        assert!(!text.contains(token.expose()));
    }
    let mode = std::fs::metadata(&file)
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(tokens.owner_of(ada.expose()).as_deref(), Some("ada"));
    assert_eq!(tokens.owner_of(second.expose()).as_deref(), Some("ada"));
    assert_eq!(tokens.owner_of(bob.expose()).as_deref(), Some("bob"));
    assert!(tokens.is_approver(approver.expose()));
    // Two principals: neither token is the other's.
    assert_eq!(tokens.owner_of(approver.expose()), None);
    assert!(!tokens.is_approver(ada.expose()));
    tokens.remove("ada").expect("removed");
    assert_eq!(tokens.owner_of(ada.expose()), None);
    // A file that others can read is not believed.
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("mode");
    assert_eq!(tokens.owner_of(bob.expose()), None);
}

#[test]
fn the_audit_log_is_private_rotated_and_holds_no_value() {
    let dir = tempfile::tempdir().expect("a folder");
    let scrubber = Scrubber::new();
    let secret = Secret::new("correct-horse-canary".into()).expect("a value");
    scrubber.register("shop-user", "password", &secret, Kind::Password);
    let audit = Audit::with_limit(dir.path(), scrubber, 600).expect("a log");
    for number in 0..4 {
        audit.write(Entry {
            what: "act",
            result: "done",
            owner: Some("ada"),
            // A caller may write anything there.
            approval: Some("x correct-horse-canary\u{1b}[2J"),
            says: Some(format!("{number} Fill with correct-horse-canary")),
            ..Entry::default()
        });
    }
    let file = dir.path().join("audit.jsonl");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("a log");
    let both = [read(&file.with_extension("jsonl.1")), read(&file)].concat();
    assert!(both.contains("0 Fill") && both.contains("3 Fill"), "{both}");
    assert!(!both.contains("canary"), "{both}");
    assert!(both.contains("x ‹shop-user.password›"), "{both}");
    assert!(!both.contains("u001b"), "{both}");
    let mode = std::fs::metadata(&file)
        .expect("a log")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn every_route_is_told_in_the_openapi_document() {
    let document = super::openapi::document();
    for (method, path, who) in super::routes::ROUTES {
        let told = &document["paths"][*path][*method];
        assert!(
            told["summary"].as_str().is_some_and(|s| !s.is_empty()),
            "{method} {path}"
        );
        assert_eq!(told["security"].is_null(), *who == "nobody", "{path}");
    }
}
