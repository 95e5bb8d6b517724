use super::*;
use std::sync::{Arc, Mutex};

#[derive(Debug, PartialEq, Clone, serde::Serialize, serde::Deserialize)]
struct Line {
    n: u32,
    text: String,
}

fn line(n: u32) -> Line {
    Line {
        n,
        text: "two\nlines".into(),
    }
}

#[tokio::test]
async fn entries_come_back_in_order() {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().join("run/events.jsonl");
    let journal = Journal::create(&path).expect("create");
    for n in 0..20 {
        journal.emit(&line(n)).await;
        let (read, _) = read::<Line>(&path).expect("read");
        assert_eq!(read.len(), n as usize + 1, "written when emit returns");
    }
    journal.emit_durable(&line(20)).await;
    let end = journal.close();
    assert!(end.trouble.is_none() && end.unwritten.is_empty());
    let (entries, note) = read::<Line>(&path).expect("read");
    assert_eq!(entries, (0..21).map(line).collect::<Vec<_>>());
    assert_eq!(note, None);
    assert!(
        Journal::<Line>::create(&path).is_err(),
        "a journal is never continued"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_many_writers_never_mix() {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().join("events.jsonl");
    let journal = Arc::new(Journal::create(&path).expect("create"));
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            let journal = journal.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    journal.emit(&line(n)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("task");
    }
    assert_eq!(read::<Line>(&path).expect("read").0.len(), 400);
}

#[test]
fn f33_a_torn_last_line_is_skipped_and_said() {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().join("events.jsonl");
    let whole = serde_json::to_string(&line(1)).expect("line");
    for cut in 1..whole.len() {
        std::fs::write(&path, format!("{whole}\n{}", &whole[..cut])).expect("write");
        let (entries, note) = read::<Line>(&path).expect("read");
        assert_eq!(entries, [line(1)]);
        assert!(note.is_some_and(|n| n.contains("cut short")));
    }
    std::fs::write(&path, format!("{whole}\n{whole}")).expect("write");
    assert_eq!(
        read::<Line>(&path).expect("read"),
        (vec![line(1), line(1)], None)
    );
    std::fs::write(&path, format!("{whole}\nTILLER\n{whole}\n")).expect("write");
    let error = read::<Line>(&path).expect_err("damaged inside").to_string();
    assert!(
        error.contains(":2:") && !error.contains("TILLER"),
        "{error}"
    );
}

/// Refuses writes while told to.
struct Flaky {
    lines: Arc<Mutex<Vec<Vec<u8>>>>,
    full: Arc<Mutex<bool>>,
}

impl Sink for Flaky {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if *self.full.lock().expect("lock") {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        self.lines.lock().expect("lock").push(line.to_vec());
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn f28_a_full_disk_keeps_lines_in_order_and_tries_again_at_the_end() {
    let (lines, full) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(Mutex::new(false)),
    );
    let start = || {
        let sink = Flaky {
            lines: lines.clone(),
            full: full.clone(),
        };
        Journal::<Line>::over(Path::new("events.jsonl"), Box::new(sink)).expect("start")
    };
    let journal = start();
    for n in 0..6 {
        *full.lock().expect("lock") = n == 2;
        journal.emit(&line(n)).await;
    }
    let end = journal.close();
    assert!(matches!(end.trouble, Some(StoreError::DiskFull(_))));
    assert!(end.unwritten.is_empty());
    let numbers = |lines: &[Vec<u8>]| -> Vec<u32> {
        let number = |l: &Vec<u8>| serde_json::from_slice::<Line>(l).expect("line").n;
        lines.iter().map(number).collect()
    };
    assert_eq!(numbers(&lines.lock().expect("lock")), [0, 1, 2, 3, 4, 5]);

    lines.lock().expect("lock").clear();
    *full.lock().expect("lock") = true;
    let journal = start();
    journal.emit_durable(&line(7)).await;
    let end = journal.close();
    assert_eq!(end.unwritten.len(), 1);
    assert!(end.unwritten[0].contains("\"n\":7"));
}

#[tokio::test]
async fn an_entry_that_is_no_line_is_trouble_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().join("events.jsonl");
    let journal = Journal::create(&path).expect("create");
    let bad = std::collections::BTreeMap::from([(vec![1], "a key must be a string")]);
    journal.emit(&bad).await;
    journal.emit(&Default::default()).await;
    assert!(journal.close().trouble.is_some());
    let (entries, _) = read::<serde_json::Value>(&path).expect("read");
    assert_eq!(entries, [serde_json::json!({})]);
}
