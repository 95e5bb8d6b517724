//! Answers kept in a folder, found again by the question.
//!
//! The key is a hash of the scrubbed question without its random mark, so a tape holds no secret
//! and a changed prompt is a miss, which shows what changed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use similar::TextDiff;

use super::answer::Reply;
use super::client::Message;
use super::error::AgentError;

#[derive(Debug, Clone, Default, PartialEq)]
pub enum Tape {
    #[default]
    Off,
    /// `--record-model DIR`
    Record(PathBuf),
    /// `--replay-model DIR`
    Replay(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub question: String,
    pub reply: Reply,
}

/// Recorded questions that are compared with one that was not found.
const COMPARED: usize = 200;
const DIFF_LINES: usize = 40;

impl Tape {
    pub fn replays(&self) -> bool {
        matches!(self, Self::Replay(_))
    }

    /// The text that is hashed: what the model reads, and the shape of its answer.
    pub(super) fn question(message: &Message, fixed: &str) -> String {
        let shape = message
            .schema
            .map(|s| s.body.to_string())
            .unwrap_or_default();
        format!("{}\n{fixed}\n# answer\n{shape}\n", message.system)
    }

    /// `None`: the model must be asked. A miss while replaying is an error.
    pub(super) fn find(&self, question: &str) -> Result<Option<Recorded>, AgentError> {
        let Self::Replay(dir) = self else {
            return Ok(None);
        };
        let path = dir.join(file_name(question));
        match fs::read_to_string(&path) {
            Ok(text) => read(dir, &path, &text).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(AgentError::TapeMiss {
                dir: dir.display().to_string(),
                diff: difference(dir, question)?,
            }),
            Err(e) => Err(unusable(dir, &e.to_string())),
        }
    }

    pub(super) fn keep(&self, recorded: &Recorded) -> Result<(), AgentError> {
        let Self::Record(dir) = self else {
            return Ok(());
        };
        let text =
            serde_json::to_string_pretty(recorded).map_err(|e| unusable(dir, &e.to_string()))?;
        #[cfg(feature = "leak-injector")]
        let text = crate::secrets::inject::plant::onto("model tape", text);
        fs::create_dir_all(dir)
            .and_then(|()| {
                // Written beside and moved: two workers may keep the same answer at once.
                let mut file = tempfile::NamedTempFile::new_in(dir)?;
                std::io::Write::write_all(&mut file, format!("{text}\n").as_bytes())?;
                file.persist(dir.join(file_name(&recorded.question)))?;
                Ok(())
            })
            .map_err(|e| unusable(dir, &e.to_string()))
    }
}

fn file_name(question: &str) -> String {
    let hash = Sha256::digest(question.as_bytes());
    let hex: String = hash.iter().map(|b| format!("{b:02x}")).collect();
    format!("{hex}.json")
}

fn unusable(dir: &Path, problem: &str) -> AgentError {
    AgentError::Tape {
        dir: dir.display().to_string(),
        problem: problem.to_owned(),
    }
}

fn read(dir: &Path, path: &Path, text: &str) -> Result<Recorded, AgentError> {
    serde_json::from_str(text).map_err(|e| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        unusable(dir, &format!("{name}: {e}"))
    })
}

/// What the nearest recorded question says differently.
fn difference(dir: &Path, question: &str) -> Result<String, AgentError> {
    let entries = fs::read_dir(dir).map_err(|e| unusable(dir, &e.to_string()))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    paths.sort();
    let nearest = paths
        .iter()
        .take(COMPARED)
        .filter_map(|path| {
            let recorded = read(dir, path, &fs::read_to_string(path).ok()?).ok()?;
            let alike = TextDiff::from_lines(recorded.question.as_str(), question).ratio();
            Some((alike, recorded.question))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, recorded)) = nearest else {
        return Ok("the folder holds no recorded question".into());
    };
    let diff = TextDiff::from_lines(recorded.as_str(), question);
    let text = diff
        .unified_diff()
        .context_radius(1)
        .header("recorded", "now")
        .to_string();
    let lines: Vec<&str> = text.lines().collect();
    let more = lines.len().saturating_sub(DIFF_LINES);
    let mut out = lines[..lines.len() - more].join("\n");
    if more > 0 {
        out.push_str(&format!("\n… {more} more lines"));
    }
    Ok(out)
}
