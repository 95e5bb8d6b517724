use std::path::Path;
use crate::event::Event;
use super::settings::RunContext;
pub fn write(_: &RunContext, _: &[Event], _: &Path) -> Result<String, String> { Err("tutorial room not merged yet".into()) }
