use proptest::prelude::*;

use super::*;
use crate::agent::counter::{Counter, Exit, Limits, STOP_AT, Verdict, fingerprint};
use crate::scenario::model::Budget;

fn counter() -> Counter {
    Counter::new(Limits {
        actions: 1000,
        ..Limits::default()
    })
}

#[test]
fn r54_a_success_resets_the_failures() {
    let mut counter = counter();
    let results = [false, false, true, false, false];
    let last = results.map(|ok| {
        if ok {
            counter.succeeded()
        } else {
            counter.failed()
        }
    });
    assert_eq!(
        last,
        [
            Verdict::GoOn,
            Verdict::Warn,
            Verdict::GoOn,
            Verdict::GoOn,
            Verdict::Warn
        ]
    );
    assert_eq!(counter.before(Duration::ZERO), None);
}

#[test]
fn r55_r56_two_failures_warn_and_four_stop() {
    let mut counter = counter();
    let verdicts: Vec<Verdict> = (0..4).map(|_| counter.failed()).collect();
    let stop = Verdict::Stop(Exit::Stuck);
    assert_eq!(
        verdicts,
        [Verdict::GoOn, Verdict::Warn, Verdict::Warn, stop]
    );
    assert_eq!(
        counter.before(Duration::ZERO),
        Some(Exit::Stuck),
        "no fifth attempt"
    );
}

#[test]
fn case_050_the_same_action_on_the_same_page_fails_at_the_second_try() {
    let mut counter = counter();
    let click = "click button \"Hold\"";
    assert!(!counter.repeats(click, 1));
    assert!(counter.repeats(click, 1));
    assert!(!counter.repeats(click, 2), "another page");
    assert!(!counter.repeats("press Escape", 1), "another action");
    assert!(counter.repeats(click, 1));
}

#[test]
fn r41_every_budget_has_an_exit_of_its_own() {
    let limits = Limits {
        actions: 2,
        time: Duration::from_secs(9),
        model_calls: 3,
        tokens: 100,
    };
    let mut counter = Counter::new(limits);
    assert_eq!(
        counter.before(Duration::from_secs(9)).unwrap().name(),
        "out_of_time"
    );
    counter.succeeded();
    assert_eq!(counter.before(Duration::ZERO), None);
    counter.failed();
    assert_eq!(counter.before(Duration::ZERO), Some(Exit::Actions));
    let mut counter = Counter::new(limits);
    counter.spent(3, 0);
    assert_eq!(counter.before(Duration::ZERO), Some(Exit::ModelCalls));
    let mut counter = Counter::new(limits);
    counter.spent(1, u64::MAX);
    counter.spent(1, 1);
    assert_eq!(counter.before(Duration::ZERO), Some(Exit::Tokens));
}

#[test]
fn a_refuted_done_counts_from_the_second() {
    let mut counter = counter();
    assert_eq!(counter.refuted(), None);
    assert_eq!(counter.failures(), 0);
    assert_eq!(counter.refuted(), Some(Verdict::GoOn));
    assert_eq!(counter.refuted(), Some(Verdict::Warn));
    assert_eq!(counter.refuted(), Some(Verdict::Warn));
    assert_eq!(counter.refuted(), Some(Verdict::Stop(Exit::Stuck)));
}

#[test]
fn a_budget_overrides_the_defaults_one_by_one() {
    let limits = Limits::from(&Budget {
        tokens: Some(7),
        ..Budget::default()
    });
    assert_eq!(
        limits,
        Limits {
            tokens: 7,
            ..Limits::default()
        }
    );
}

proptest! {
    #[test]
    fn r56_the_loop_stops_exactly_at_four_failures_in_a_row(results in prop::collection::vec(any::<bool>(), 0..40)) {
        let mut counter = counter();
        let mut row = 0u32;
        for ok in results {
            let verdict = if ok { counter.succeeded() } else { counter.failed() };
            row = if ok { 0 } else { row + 1 };
            prop_assert_eq!(matches!(verdict, Verdict::Stop(_)), row >= STOP_AT);
            prop_assert_eq!(matches!(verdict, Verdict::Warn), (2..STOP_AT).contains(&row));
            prop_assert_eq!(counter.before(Duration::ZERO).is_some(), row >= STOP_AT);
        }
    }

    /// Whatever happens, no more actions are begun than the budget has.
    #[test]
    fn r41_the_loop_is_bounded(results in prop::collection::vec(any::<bool>(), 60)) {
        let mut counter = Counter::new(Limits::default());
        let mut done = 0;
        for ok in results {
            if counter.before(Duration::ZERO).is_some() {
                break;
            }
            done += 1;
            if ok { counter.succeeded() } else { counter.failed() };
        }
        prop_assert!(done <= 30);
    }
}

fn with_text(text: &str) -> Observation {
    let mut page = ten_controls();
    page.documents[0].text = text.into();
    page
}

#[test]
fn case_050_clocks_and_spinners_are_no_change() {
    let base = fingerprint(&with_text(
        "Berth 4 held at 10:31:05 since 3 seconds ago, 40% done",
    ));
    let later = with_text("Berth 4 held at 10:31:09 since 7 seconds ago, 60% done");
    assert_eq!(fingerprint(&later), base);
    let mut next = later.clone();
    next.generation += 1;
    assert_eq!(fingerprint(&next), base, "a later read of the same page");
    assert_ne!(
        fingerprint(&with_text(
            "Berth 5 held at 10:31:05 since 3 seconds ago, 40% done"
        )),
        base
    );

    let spinning = |shown: &str| {
        let mut page = with_text(&format!("Hold {shown} now"));
        let mut bar = place("progressbar", shown);
        bar.text = 5..5 + shown.len();
        page.documents[0].nodes.push(bar);
        fingerprint(&page)
    };
    assert_eq!(spinning("one"), spinning("two of"));
}

#[test]
fn what_a_person_would_notice_is_a_change() {
    let base = fingerprint(&ten_controls());
    let changed = |change: fn(&mut Observation)| {
        let mut page = ten_controls();
        change(&mut page);
        fingerprint(&page)
    };
    for other in [
        changed(|p| p.url = "http://code.test/other".into()),
        changed(|p| p.documents[0].nodes[2].states.value = Some("a".into())),
        changed(|p| p.documents[0].nodes[3].states.disabled = true),
        changed(|p| p.documents[0].nodes[0].reachable = false),
        changed(|p| drop(p.documents[0].nodes.pop())),
        changed(|p| p.documents[0].text = "Quantity 2".into()),
    ] {
        assert_ne!(other, base);
    }
}
