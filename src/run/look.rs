//! Looking at `expect` lines: polled in the middle, twice at the end (R58).
//!
//! The planner's claim never counts; the second look reads the page afresh.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::broker::{Broker, BrokerError};
use crate::event::{Finding, Looked};
use crate::resolve::{Checked, check_all};
use crate::scenario::{ExpectLine, Expectation, SecondLook, say_expectation};

/// Between two polls; a page that changes is read again at once.
const POLL: Duration = Duration::from_millis(100);
/// Where nothing fleeting is expected.
const PAUSE: Duration = Duration::from_millis(500);
/// Where a line rests on a live region or on text that appeared after the last action: pages like
/// to take those back.
const FLEETING_PAUSE: Duration = Duration::from_millis(2500);

/// What the end of a scenario looked like.
#[derive(Debug, Clone, PartialEq)]
pub enum EndState {
    Completed,
    /// The first look never held.
    NotCompleted,
    /// The second look no longer held.
    Disagreed,
}

/// What the lines are checked against beside the page.
pub struct Facts<'a> {
    pub data: &'a Value,
}

/// Polls until every line holds or time is up; the last findings either way.
pub async fn poll(
    broker: &mut Broker,
    lines: &[Expectation],
    facts: &Facts<'_>,
    within: Duration,
) -> Result<(Vec<Checked>, bool), BrokerError> {
    let until = Instant::now() + within;
    broker.seek(lines.iter().flat_map(Expectation::targets));
    let mut fresh = broker.is_pictured();
    loop {
        // The read that settled the page is as good as a new one, once.
        let observation = match std::mem::take(&mut fresh) {
            true => broker.seen().await?,
            false => broker.look().await?,
        };
        let checked = check_all(lines, &observation, facts.data, &broker.downloads());
        if checked.iter().all(|c| c.holds) {
            return Ok((checked, true));
        }
        if Instant::now() >= until || broker.must_stop() {
            return Ok((checked, false));
        }
        sleep(POLL.min(until - Instant::now())).await;
    }
}

/// Both looks. `before_last` is the page's text before the last action: what is new since then may
/// be fleeting.
pub async fn end_state(
    broker: &mut Broker,
    lines: &[Expectation],
    facts: &Facts<'_>,
    within: Duration,
    second: Option<SecondLook>,
    before_last: &str,
    mut say: impl FnMut(Looked),
) -> Result<EndState, BrokerError> {
    let (first, holds) = poll(broker, lines, facts, within).await?;
    say(looked("first", lines, &first, broker));
    if !holds {
        return Ok(EndState::NotCompleted);
    }
    match second {
        Some(SecondLook::Reload) => broker.reload().await?,
        Some(SecondLook::After(pause)) => sleep(pause).await,
        None if first.iter().any(|c| c.live) || appeared_since(lines, before_last) => {
            sleep(FLEETING_PAUSE).await
        }
        None => sleep(PAUSE).await,
    }
    let within = if second == Some(SecondLook::Reload) {
        within
    } else {
        Duration::ZERO
    };
    let (again, holds) = poll(broker, lines, facts, within).await?;
    say(looked("second", lines, &again, broker));
    Ok(if holds {
        EndState::Completed
    } else {
        EndState::Disagreed
    })
}

/// A `see` line whose text was not on the page before the last action, on an address that is the
/// same: it may be a message that goes again.
fn appeared_since(lines: &[Expectation], before: &str) -> bool {
    let before = crate::text::fold::fold(before);
    lines.iter().any(|line| match &line.line {
        ExpectLine::See(text) => {
            !before.is_empty() && !before.contains(&crate::text::fold::fold(text))
        }
        _ => false,
    })
}

pub fn findings(lines: &[Expectation], checked: &[Checked]) -> Vec<Finding> {
    lines
        .iter()
        .zip(checked)
        .map(|(line, checked)| Finding {
            line: say_expectation(line),
            holds: checked.holds,
            saw: checked.saw.clone(),
        })
        .collect()
}

fn looked(which: &str, lines: &[Expectation], checked: &[Checked], broker: &Broker) -> Looked {
    let (url, title) = broker
        .last()
        .map(|o| (crate::page::shown_address(&o.url), o.title.clone()))
        .unwrap_or_default();
    Looked {
        look: which.to_owned(),
        findings: findings(lines, checked),
        url,
        title,
    }
}
