//! Playwright beside us: a Node process that measures when it is asked, one line in, one line out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct Peer {
    child: Child,
    ask: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Peer {
    /// `PLAYWRIGHT_DIR` is the folder its package was installed into; `None` where it is not set.
    pub fn start() -> Option<Self> {
        let folder = std::env::var("PLAYWRIGHT_DIR").ok()?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/ci/bench/playwright.cjs");
        let mut child = Command::new("node")
            .args([script, "reading"])
            .env("NODE_PATH", format!("{folder}/node_modules"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let ask = child.stdin.take()?;
        let said = BufReader::new(child.stdout.take()?);
        Some(Self { child, ask, said })
    }

    fn say(&mut self, line: &str) -> Option<String> {
        writeln!(self.ask, "{line}").ok()?;
        let mut answer = String::new();
        self.said.read_line(&mut answer).ok()?;
        Some(answer.trim().to_owned()).filter(|a| !a.is_empty())
    }

    pub fn open(&mut self, url: &str) -> Option<()> {
        self.say(&format!("open {url}")).map(drop)
    }

    /// Milliseconds for one aria snapshot of the page, and its length; or why there is none.
    pub fn snapshot(&mut self) -> Result<(f64, usize), String> {
        let answer = self.say("snapshot").ok_or("it has ended")?;
        let figures = answer.split_once(' ').and_then(|(ms, length)| {
            let ms: f64 = ms.parse().ok()?;
            Some((ms, length.parse().ok()?))
        });
        figures.ok_or(answer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its browser closes with it; a peer that does not answer is ended.
        if writeln!(self.ask, "quit").is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
