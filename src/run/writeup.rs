//! The tutorial of one attempt, written whichever way it ended.

use std::path::Path;

use crate::event::Event;

use super::settings::RunContext;

/// Writes the tutorial into the attempt's folder and gives its Markdown.
pub fn write(context: &RunContext, events: &[Event], folder: &Path) -> Result<String, String> {
    let writer = |path: &Path, bytes: &[u8]| {
        context
            .outgoing
            .write(path, bytes)
            .map_err(|e| e.to_string())
    };
    crate::tutorial::write(events, folder, folder, &writer)
        .map(|written| written.markdown)
        .map_err(|e| e.to_string())
}
