//! Scenario files: read, bound by the verb table, checked. In: text. Out: [`Scenario`].
//!
//! [`Suite::load`] reads a folder; [`parse_scenario`] and [`parse_fixture`] one file; [`bind`]
//! replaces `$(…)`. Whatever is wrong comes back as [`crate::text::Problem`]s, all of a file at
//! once.

mod bind;
mod emulation;
mod hide;
mod keys;
mod lexicon;
pub mod model;
mod reasons;
mod roles;
mod say;
mod schema;
mod sentence;
mod settings;
mod shapes;
mod suite;
mod target;
mod vars;
mod verbs;
mod walk;
mod written;
mod yaml;

pub use bind::{
    duration as parse_duration, parse_fixture, parse_scenario, parse_viewport,
    pattern as parse_pattern,
};
pub use hide::{hide_in_expectations, hide_in_step};
pub use lexicon::{Lexicon, Lexicons};
pub use model::*;
pub use reasons::REASONS;
pub use roles::{ROLES, role as role_word};
pub use say::{say, say_act};
pub use schema::{fixture_schema, schema};
pub use settings::{
    BIND_WANTED, BrowserSettings, BudgetSettings, MaskSettings, ModelTable, NetworkSettings,
    RunSettings, Settings, parse_bind,
};
pub use suite::{Selection, Suite, find_root};
pub use target::{TargetError, parse_target};
pub use vars::{Vars, bind, bind_flow};
pub use verbs::{Primitive, Row, VERBS, help as verb_help, row_of};

/// A step as an English sentence, whatever language it was written in: for console and tutorials.
pub fn say_english(step: &Step) -> String {
    static LEXICONS: std::sync::LazyLock<Lexicons> = std::sync::LazyLock::new(Lexicons::default);
    say(step, LEXICONS.english())
}

/// An `expect` line as it is written in a file.
pub fn say_expectation(line: &Expectation) -> String {
    let flow = written::flow(&written::expectation(line));
    flow.strip_prefix('{')
        .and_then(|f| f.strip_suffix('}'))
        .map_or(flow.clone(), |inside| inside.trim().to_owned())
}

use bind::direction as bind_to_direction;

fn bind_direction(word: &str) -> bool {
    bind_to_direction(word).is_some()
}

#[cfg(test)]
mod roundtrip_tests;
#[cfg(test)]
mod sentence_tests;
#[cfg(test)]
mod suite_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod yaml_tests;
