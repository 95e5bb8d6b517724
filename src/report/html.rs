//! The report people open: one file without a server, a font or a request.
//!
//! Everything is HTML from the start (nothing is built by script), closed `<details>` keep a
//! thousand scenarios light, and the script only filters, jumps and enlarges. The template engine
//! escapes every value; a content policy with the script's hash is the second wall.

mod view;

use base64::Engine;
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use sha2::{Digest, Sha256};

use super::Options;
use super::model::RunReport;
use crate::event::Event;

const TEMPLATE: &str = include_str!("html/report.html");
const MACROS: &str = include_str!("html/parts.html");
const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// Where the pictures come from.
#[derive(Clone, Copy, Default)]
pub enum Pictures<'a> {
    /// By relative path below the run folder, where the report lies.
    #[default]
    Linked,
    /// Inside the file. Takes a path below the run folder, gives PNG bytes; what it cannot give is
    /// linked.
    Inline(&'a dyn Fn(&str) -> Option<Vec<u8>>),
}

/// The report with linked pictures, to lie in the run folder.
pub fn render(events: &[Event], options: &Options) -> String {
    render_with(events, options, Pictures::Linked)
}

pub fn render_with(events: &[Event], options: &Options, pictures: Pictures) -> String {
    of(&RunReport::fold(events), options, pictures)
}

pub(super) fn of(run: &RunReport, options: &Options, pictures: Pictures) -> String {
    let page = view::page(run, options, pictures);
    let mut environment = Environment::new();
    environment.set_syntax(tight());
    // The templates are part of the program: a fault in them is a fault of ours, found by tests.
    environment
        .add_template("parts.html", MACROS)
        .and_then(|()| environment.add_template("report.html", TEMPLATE))
        .and_then(|()| environment.get_template("report.html"))
        .and_then(|template| {
            template.render(minijinja::context! {
                page => Value::from(Serde(page)),
                style => STYLE,
                script => SCRIPT,
                script_hash => hash(SCRIPT),
            })
        })
        .expect("the template fits its data")
}

/// Template tags leave no lines behind; a thousand scenarios would pay for each.
fn tight() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    syntax.build().expect("the default delimiters are valid")
}

/// The form a content policy names a script by.
fn hash(script: &str) -> String {
    let digest = Sha256::digest(script.as_bytes());
    let digest = base64::engine::general_purpose::STANDARD.encode(digest);
    format!("sha256-{digest}")
}

#[cfg(test)]
mod tests;
