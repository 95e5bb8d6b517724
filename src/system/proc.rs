//! What `/proc` says about processes: the only honest way to know that something is gone.
//!
//! A process is named by pid *and* start time, because pids come back. Zombies (state Z) count
//! as gone: in a container whose first process never reaps they stay listed for ever.

use std::path::Path;
use std::time::{Duration, Instant};

/// A process that can't be mistaken for a later one with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessId {
    pub pid: i32,
    /// Clock ticks after boot (field 22 of `/proc/<pid>/stat`).
    pub start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub pid: i32,
    pub state: char,
    pub parent: i32,
    pub group: i32,
    pub start: u64,
}

impl Stat {
    pub fn id(&self) -> ProcessId {
        ProcessId {
            pid: self.pid,
            start: self.start,
        }
    }

    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Reads one process, or `None` when there is none.
pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in brackets may hold spaces and brackets: fields are counted after the last `)`.
fn parse_stat(line: &str) -> Option<Stat> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let rest = &line[line.rfind(')')? + 1..];
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        pid,
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// Every process that can be seen, zombies included.
pub fn all() -> Vec<Stat> {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(stat)
        .collect()
}

/// Living members of a process group.
pub fn group_members(group: i32) -> Vec<Stat> {
    all()
        .into_iter()
        .filter(|p| p.group == group && p.is_alive())
        .collect()
}

/// Is anything but zombies left in the group?
pub fn group_alive(group: i32) -> bool {
    !group_members(group).is_empty()
}

/// Is exactly this process still running?
pub fn is_running(id: ProcessId) -> bool {
    stat(id.pid).is_some_and(|s| s.start == id.start && s.is_alive())
}

/// Living processes below `root`, whatever group they moved to.
pub fn descendants(root: i32) -> Vec<Stat> {
    let all = all();
    let mut found: Vec<Stat> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|p| p.parent == parent && p.pid != root) {
            parents.push(process.pid);
            found.push(*process);
        }
    }
    found.retain(Stat::is_alive);
    found
}

/// Sends a signal to one process; `false` when it was gone already.
pub fn signal(pid: i32, signal: i32) -> bool {
    // Never 0 or negative: that would reach a whole group, ours included.
    // SAFETY: kill(2) takes plain integers and touches no memory of ours.
    pid > 1 && unsafe { libc::kill(pid, signal) } == 0
}

/// Sends a signal to a whole process group; `false` when it was gone already.
pub fn signal_group(group: i32, signal: i32) -> bool {
    // SAFETY: as above.
    group > 1 && unsafe { libc::kill(-group, signal) } == 0
}

/// Waits until `gone` says so, looking every 20 ms, up to `limit`. Returns its last answer.
pub async fn wait_until(limit: Duration, mut gone: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if gone() {
            return true;
        }
        if start.elapsed() >= limit {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_read() {
        let line = "77 (a) b (c) S 1 42 42 0 -1 4 0 0 0 0 1 2 0 0 20 0 1 0 987654 0 0";
        assert_eq!(
            parse_stat(line),
            Some(Stat {
                pid: 77,
                state: 'S',
                parent: 1,
                group: 42,
                start: 987_654
            })
        );
        assert_eq!(parse_stat("garbage"), None);
    }

    #[test]
    fn we_run_and_a_zombie_does_not_count() {
        let me = stat(std::process::id() as i32).expect("self");
        assert!(is_running(me.id()));
        assert!(!is_running(ProcessId {
            start: me.start + 1,
            ..me.id()
        }));

        use std::os::unix::process::CommandExt;
        let mut child = std::process::Command::new("/bin/true")
            .process_group(0)
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        // Not waited for: it turns into a zombie, which must read as "nothing alive".
        let start = Instant::now();
        while group_alive(pid) && start.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        assert!(!group_alive(pid));
        assert_eq!(stat(pid).map(|s| s.state), Some('Z'));
        child.wait().unwrap();
    }

    #[test]
    fn pid_zero_and_one_are_never_signalled() {
        assert!(!signal(0, 0));
        assert!(!signal(1, 0));
        assert!(!signal(-1, 0));
        assert!(!signal_group(1, 0));
    }
}
