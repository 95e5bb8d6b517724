//! Two clocks, never mixed: monotonic time for durations, wall time for people.
//!
//! Durations and deadlines come from [`Instant`] only, so a clock set back or an hour of
//! daylight saving changes no verdict (failures F35). The wall time is written once per event.

use std::time::{Duration, Instant};

/// The moment a run began, on both clocks.
#[derive(Debug, Clone)]
pub struct Clock {
    started: Instant,
    started_wall: jiff::Timestamp,
}

impl Default for Clock {
    fn default() -> Self {
        Self::start()
    }
}

impl Clock {
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            started_wall: jiff::Timestamp::now(),
        }
    }

    /// Monotonic time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whole milliseconds since the start, for event records.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The wall time the run began, RFC 3339 in UTC with milliseconds.
    pub fn started_rfc3339(&self) -> String {
        rfc3339(self.started_wall)
    }

    /// The wall time the run began, as a folder name: sorts by time, holds no colon.
    pub fn folder_name(&self) -> String {
        self.started_wall.strftime("%Y-%m-%dT%H-%M-%S").to_string()
    }
}

/// Wall time now, RFC 3339 in UTC with milliseconds: `2026-11-30T12:29:54.120Z`.
pub fn now_rfc3339() -> String {
    rfc3339(jiff::Timestamp::now())
}

fn rfc3339(time: jiff::Timestamp) -> String {
    format!("{time:.3}")
}

/// Time since boot, counting suspension (`CLOCK_BOOTTIME`): the clock for things that must
/// also expire while the machine sleeps, such as a given consent.
pub fn boot_time() -> Duration {
    let mut spec = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `spec` is a valid, writable timespec for the length of the call.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut spec) };
    if answer != 0 {
        return Duration::ZERO;
    }
    Duration::new(
        u64::try_from(spec.tv_sec).unwrap_or(0),
        u32::try_from(spec.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_has_milliseconds_and_a_z() {
        let text = now_rfc3339();
        assert_eq!(text.len(), "2026-11-30T12:29:54.120Z".len(), "{text}");
        assert!(text.ends_with('Z') && text.as_bytes()[19] == b'.', "{text}");
        text.parse::<jiff::Timestamp>().expect("parses back");
    }

    #[test]
    fn folder_name_is_safe_and_sorts_by_time() {
        let name = Clock::start().folder_name();
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "{name}"
        );
    }

    #[test]
    fn boot_time_moves_forward() {
        let first = boot_time();
        assert!(first > Duration::ZERO);
        assert!(boot_time() >= first);
    }
}
