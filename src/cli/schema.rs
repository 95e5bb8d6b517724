//! `rehearsal schema`: the JSON Schemas, made from the tables that bind the files.

use super::args::SchemaArgs;
use super::exit;
use super::say::Say;

pub fn schema(args: &SchemaArgs, say: &Say) -> i32 {
    let schema = match args.what.as_str() {
        "scenario" => crate::scenario::schema(),
        "fixture" => crate::scenario::fixture_schema(),
        "report" => crate::report::json::schema(),
        "tutorial" => crate::tutorial::json_schema(),
        other => {
            return say.fail(
                exit::USAGE,
                &format!(
                    "there is no schema called `{other}`; there are scenario, fixture, report and tutorial"
                ),
            );
        }
    };
    say.line(&serde_json::to_string_pretty(&schema).unwrap_or_default());
    exit::PASSED
}
