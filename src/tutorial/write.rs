//! A tutorial on disk: `tutorial.md`, `.json`, `.html`, the chosen pictures with their records, and
//! `frames.json`, the map from the audit log's frames to the tutorial.
//!
//! Every byte goes through the caller's writer, which scans it for secrets and writes atomically.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use super::draw::{Drawn, draw};
use super::history::History;
use super::model::{Picture, Tutorial};
use super::{curate, html, json, markdown};
use crate::event::Event;
use crate::snapshot::{CoveredArea, PictureRecord, RECORD_FORMAT};
use crate::store::frames::full_hash;

pub use crate::snapshot::verify_records;

/// Scans bytes and writes them, or says why not.
pub type Writer<'a> = &'a dyn Fn(&Path, &[u8]) -> Result<(), String>;

/// What was written.
#[derive(Debug, Clone)]
pub struct Written {
    pub tutorial: Tutorial,
    pub markdown: String,
    pub files: Vec<PathBuf>,
    pub partial: bool,
    /// Pictures that could not be shown, with the reason; the tutorial stands without them.
    pub without: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum TutorialError {
    #[error("the tutorial's {} was not written: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
}

/// Writes the tutorial the rules make of the events.
pub fn write(
    events: &[Event],
    scenario_run_dir: &Path,
    out_dir: &Path,
    writer: Writer,
) -> Result<Written, TutorialError> {
    write_made(curate(events), events, scenario_run_dir, out_dir, writer)
}

/// Writes a tutorial that was made before (with prose, or with volatile text taken into account).
/// A frame that is missing, changed or unreadable costs its picture, never the tutorial.
pub fn write_made(
    mut tutorial: Tutorial,
    events: &[Event],
    scenario_run_dir: &Path,
    out_dir: &Path,
    writer: Writer,
) -> Result<Written, TutorialError> {
    let mut drawn: BTreeMap<String, Drawn> = BTreeMap::new();
    let mut without = Vec::new();
    let mut prepare = |picture: &mut Option<Picture>| {
        let Some(one) = picture else { return };
        match load(scenario_run_dir, one)
            .and_then(|bytes| draw(&bytes, &one.marks, &one.redactions).map(|d| (bytes, d)))
        {
            Ok((bytes, made)) => {
                one.hash = Some(full_hash(&bytes));
                one.marks.retain(|m| made.marked.contains(&m.number));
                drawn.insert(one.file.clone(), made);
            }
            Err(why) => {
                without.push(format!("{}: {why}", one.frame));
                *picture = None;
            }
        }
    };
    tutorial
        .steps
        .iter_mut()
        .for_each(|step| prepare(&mut step.picture));
    prepare(&mut tutorial.result);

    forget(&out_dir.join("pictures"), &tutorial)?;
    let mut files = Vec::new();
    let mut put = |name: &str, bytes: &[u8]| {
        let path = out_dir.join(name);
        writer(&path, bytes).map_err(|reason| TutorialError::Unwritable {
            path: path.clone(),
            reason,
        })?;
        files.push(path);
        Ok::<(), TutorialError>(())
    };
    for picture in tutorial.pictures() {
        if let Some(made) = drawn.get(&picture.file) {
            put(&picture.file, &made.png)?;
            put(
                &picture.file.replace(".png", ".json"),
                pretty(&record(picture, made)).as_bytes(),
            )?;
        }
    }
    let text = markdown(&tutorial);
    put("tutorial.md", text.as_bytes())?;
    put("tutorial.json", json(&tutorial).as_bytes())?;
    let inline = |file: &str| drawn.get(file).map(|d| d.png.clone());
    put("tutorial.html", html::render(&tutorial, &inline).as_bytes())?;
    put("frames.json", pretty(&frames(events, &tutorial)).as_bytes())?;
    Ok(Written {
        partial: tutorial.partial(),
        markdown: text,
        files,
        without,
        tutorial,
    })
}

/// Removes pictures and records that an earlier tutorial left in the folder: it holds what the tutorial
/// shows and nothing else (R62).
fn forget(folder: &Path, tutorial: &Tutorial) -> Result<(), TutorialError> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    let shown: Vec<&str> = tutorial
        .pictures()
        .filter_map(|p| p.file.strip_prefix("pictures/")?.strip_suffix(".png"))
        .collect();
    for path in entries.flatten().map(|e| e.path()) {
        let ending = path.extension().and_then(|e| e.to_str());
        let stem = path
            .file_stem()
            .and_then(|s| s.to_str())
            .unwrap_or_default();
        if matches!(ending, Some("png" | "json")) && !shown.contains(&stem) {
            std::fs::remove_file(&path).map_err(|e| TutorialError::Unwritable {
                path: path.clone(),
                reason: e.to_string(),
            })?;
        }
    }
    Ok(())
}

/// The frame's bytes, if they are the ones the event tells of.
fn load(scenario_run_dir: &Path, picture: &Picture) -> Result<Vec<u8>, String> {
    let below = Path::new(&picture.frame);
    if picture.frame.is_empty()
        || !below
            .components()
            .all(|c| matches!(c, Component::Normal(_)))
    {
        return Err("the journal names a frame outside the run folder".into());
    }
    let bytes = std::fs::read(scenario_run_dir.join(below)).map_err(|e| e.to_string())?;
    match &picture.hash {
        Some(hash) if *hash != full_hash(&bytes) => {
            Err("the frame was changed since the run".into())
        }
        _ => Ok(bytes),
    }
}

fn record(picture: &Picture, made: &Drawn) -> PictureRecord {
    let scaled = |n: i32| (n as f32 * made.scale).round() as i32;
    PictureRecord {
        format: RECORD_FORMAT,
        source: picture.hash.clone().unwrap_or_default(),
        picture: full_hash(&made.png),
        width: made.width,
        height: made.height,
        covered: picture
            .redactions
            .iter()
            .map(|c| CoveredArea {
                rect: c.rect.map(scaled),
                reason: c.reason.clone(),
            })
            .collect(),
    }
}

/// One frame of the audit log, and where the tutorial uses it.
#[derive(Debug, Serialize)]
struct FrameLine {
    frame: Option<String>,
    withheld: Option<String>,
    step: String,
    url: String,
    unsettled: bool,
    /// Number of the tutorial's step that shows this frame or tells its step.
    tutorial_step: Option<usize>,
    pictures: Vec<String>,
}

fn frames(events: &[Event], tutorial: &Tutorial) -> Vec<FrameLine> {
    let history = History::read(events);
    let line = |frame: &crate::event::Frame| FrameLine {
        frame: frame.file.clone(),
        withheld: frame.withheld.clone(),
        step: frame.step.clone(),
        url: frame.url.clone(),
        unsettled: frame.unsettled,
        tutorial_step: tutorial
            .steps
            .iter()
            .position(|s| {
                let shown = s
                    .picture
                    .as_ref()
                    .is_some_and(|p| Some(&p.frame) == frame.file.as_ref());
                shown || s.places.contains(&frame.step)
            })
            .map(|i| i + 1),
        pictures: tutorial
            .pictures()
            .filter(|p| Some(&p.frame) == frame.file.as_ref())
            .map(|p| p.file.clone())
            .collect(),
    };
    history
        .frames
        .iter()
        .map(|(_, frame)| line(frame))
        .collect()
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
