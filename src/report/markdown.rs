//! GitHub: a job summary in Markdown, and annotations at the lines of scenario files.
//!
//! Page text stays text: every mark that Markdown or HTML could read is written as a character
//! reference, and evidence stands in a fence longer than any in it.

use super::block::{self, Block};
use super::exit::Class;
use super::model::{RunReport, ScenarioReport};
use super::{Options, plain};
use crate::event::Event;

/// GitHub refuses summaries over 1 MiB; the rest is cut with a remark.
const LIMIT: usize = 900 << 10;
/// Evidence of one scenario.
const EVIDENCE: usize = 12 << 10;
/// GitHub shows so many errors per step; the rest is in the summary.
const ANNOTATIONS: usize = 10;

pub fn render(events: &[Event], options: &Options) -> String {
    summary(&RunReport::fold(events), options)
}

/// `::error …` lines for what did not pass, `::warning …` for what is flaky.
pub fn annotations(events: &[Event], options: &Options) -> String {
    let run = RunReport::fold(events);
    let bad = run.scenarios.iter().filter(|scenario| !good(scenario));
    let mut out: String = bad
        .take(ANNOTATIONS)
        .map(|scenario| annotation("error", scenario, options))
        .collect();
    let flaky = run.scenarios.iter().filter(|scenario| scenario.flaky);
    out.extend(
        flaky
            .take(ANNOTATIONS)
            .map(|scenario| annotation("warning", scenario, options)),
    );
    out
}

fn good(scenario: &ScenarioReport) -> bool {
    matches!(scenario.class(), Class::Passed | Class::Skipped)
}

fn annotation(level: &str, scenario: &ScenarioReport, options: &Options) -> String {
    let file = match options.suite_folder.is_empty() {
        true => scenario.file.clone(),
        false => format!("{}/{}", options.suite_folder, scenario.file),
    };
    let step = scenario
        .last()
        .filter(|_| level == "error")
        .and_then(|last| last.failing_step());
    let line = step
        .and_then(|step| step.line)
        .map_or_else(String::new, |line| format!(",line={line}"));
    let message = match level {
        "error" => Block::of(scenario, options).text(),
        _ => format!("Passed only at attempt {}.", scenario.attempts.len()),
    };
    format!(
        "::{level} file={}{line},title={}::{}\n",
        property(&file),
        property(&format!("{}: {}", block::word(scenario), scenario.name)),
        data(&plain::cut(message.trim_end(), 4096)),
    )
}

/// The workflow command's own escapes; without them a message could start another command.
fn data(text: &str) -> String {
    plain::plain(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(&plain::short(text, 200))
        .replace(':', "%3A")
        .replace(',', "%2C")
}

pub(super) fn summary(run: &RunReport, options: &Options) -> String {
    let counts = &run.counts;
    let mut out = format!(
        "## Rehearsal: {} of {} passed\n\n",
        counts.passed, counts.scenarios
    );
    if let Some(header) = &run.run {
        let mut facts = vec![header.suite.clone(), header.browser.clone()];
        facts.extend(header.model.clone());
        facts.push(header.network.clone());
        facts.push(block::duration(run.ms));
        let facts: Vec<String> = facts
            .iter()
            .filter(|f| !f.is_empty())
            .map(|f| escape(f, 120))
            .collect();
        out += &format!("{}\n\n", facts.join(" · "));
    }
    if let Some(signal) = &run.interrupted {
        out += &format!("**Stopped by {}.**\n\n", escape(signal, 40));
    }
    if let Some((_, message)) = run.own_trouble() {
        out += &format!("**{}**\n\n", escape(&message, 400));
    }
    let (bad, fine): (Vec<_>, Vec<_>) = run.scenarios.iter().partition(|s| !good(s));
    if !bad.is_empty() {
        out += "| Status | Scenario | Why | Time |\n| --- | --- | --- | ---: |\n";
        for scenario in &bad {
            out += &row(scenario, &escape(&scenario.message, 200));
        }
        out.push('\n');
    }
    for scenario in &bad {
        if out.len() > LIMIT {
            out += "… more in the HTML report.\n\n";
            break;
        }
        out += &evidence(scenario, options);
    }
    if !fine.is_empty() && out.len() < LIMIT {
        out += &format!(
            "<details><summary>{} passed or skipped</summary>\n\n| Status | Scenario | Time |\n| --- | --- | ---: |\n",
            fine.len()
        );
        for scenario in fine {
            if out.len() > LIMIT {
                out += "| … | more in the HTML report | |\n";
                break;
            }
            out += &row(scenario, "").replacen("|  |", "|", 1);
        }
        out += "\n</details>\n";
    }
    out
}

fn row(scenario: &ScenarioReport, why: &str) -> String {
    format!(
        "| {} {} | **{}**<br>{} | {why} | {} |\n",
        sign(scenario),
        block::word(scenario),
        escape(&scenario.name, 120),
        escape(&scenario.id, 120),
        block::duration(scenario.ms)
    )
}

fn sign(scenario: &ScenarioReport) -> &'static str {
    match scenario.class() {
        Class::Passed if scenario.flaky => "🟡",
        Class::Passed => "🟢",
        Class::Skipped => "⚪",
        Class::Pending | Class::NotFinished => "🟡",
        Class::Refused => "🟣",
        Class::Failed | Class::Error | Class::Leak => "🔴",
    }
}

fn evidence(scenario: &ScenarioReport, options: &Options) -> String {
    let text = Block::of(scenario, options).text();
    let text = plain::cut(&text, EVIDENCE);
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!(
        "<details><summary>{} <b>{}</b></summary>\n\n{fence}text\n{}\n{fence}\n\n</details>\n\n",
        sign(scenario),
        escape(&scenario.name, 120),
        text.trim_end()
    )
}

/// Text in a table cell or a heading: everything but letters, digits and a few plain marks becomes
/// a character reference, so no link, image, mention, cell border or tag can arise.
fn escape(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for c in plain::short(text, limit).chars() {
        match c {
            ' ' | ',' | '\'' | '/' | '-' => out.push(c),
            c if c.is_ascii_punctuation() => out.push_str(&format!("&#{};", c as u32)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event as Md, Options as MdOptions, Parser, Tag};

    use super::super::sample::{self, HOSTILE};
    use super::*;

    fn here() -> Options {
        Options {
            run_folder: "runs/now".to_owned(),
            suite_folder: "e2e".to_owned(),
        }
    }

    #[test]
    fn page_text_makes_no_link_image_or_tag() {
        let text = render(&sample::journal(), &here());
        for event in Parser::new_ext(&text, MdOptions::all()) {
            match event {
                Md::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    panic!("a link to {dest_url}")
                }
                Md::Html(tag) | Md::InlineHtml(tag) => {
                    for known in tag
                        .split_inclusive('>')
                        .map(str::trim)
                        .filter(|t| t.starts_with('<'))
                    {
                        let known = [
                            "<details>",
                            "</details>",
                            "<summary>",
                            "</summary>",
                            "<b>",
                            "</b>",
                            "<br>",
                        ]
                        .contains(&known);
                        assert!(known, "a tag of the page: {tag}");
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_scenario_stands_in_a_table_row_of_the_right_width() {
        let text = render(&sample::journal(), &here());
        assert!(text.starts_with("## Rehearsal: 3 of 10 passed\n"));
        let mut cells = 0;
        let mut heads = 0;
        for event in Parser::new_ext(&text, MdOptions::ENABLE_TABLES) {
            match event {
                Md::Start(Tag::TableCell) => cells += 1,
                Md::Start(Tag::TableHead) => heads += 1,
                _ => {}
            }
        }
        // Heads of 4 and 3, 7 rows of 4, 3 rows of 3.
        assert_eq!((heads, cells), (2, 7 + 28 + 9), "{text}");
    }

    #[test]
    fn an_annotation_is_one_line_at_the_line_of_the_step() {
        let text = annotations(&sample::journal(), &here());
        let first = text.lines().next().unwrap();
        assert!(first.starts_with(
            "::error file=e2e/scenarios/code-host/sign-in.yaml,line=10,title=failed%3A Sign in and open the inbox::step 2"
        ), "{first}");
        assert!(first.contains("%0Aseen"));
        assert!(text.contains("::warning file=e2e/scenarios/clips/newest.yaml,title=flaky"));
        assert!(
            text.lines()
                .all(|line| line.starts_with("::error ") || line.starts_with("::warning "))
        );
    }

    #[test]
    fn escapes_hold_in_annotations() {
        assert_eq!(property("a:b,c%d\ne"), "a%3Ab%2Cc%25d e");
        assert!(!data(HOSTILE).contains('\u{1b}'));
        assert_eq!(data("50 %\n::x"), "50 %25%0A::x");
    }

    #[test]
    fn a_large_suite_stays_below_the_limit_of_the_host() {
        let text = render(&sample::large(1000), &here());
        assert!(text.len() < 1 << 20, "{}", text.len());
    }
}
