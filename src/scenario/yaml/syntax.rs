//! What the scanner found, for people.

use std::sync::Arc;

use granit_parser::{ErrorKind, ScanError};

use super::{DEEPEST, NESTED};
use crate::text::{Problem, Source, Span};

/// Own words for what the scanner found, with the likely mistake first.
pub fn syntax(source: &Arc<Source>, error: &ScanError, at: usize) -> Problem {
    let text = &source.text;
    let line_start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let here = Span {
        start: at,
        end: (at + 1).min(text.len()),
    };
    // A text that a tab in the next line ends is told of at its own end.
    let next = text[at..].find('\n').map_or(text.len(), |i| at + i + 1);
    let tabs = error.info().contains("tab");
    let until = if tabs { next } else { at };
    if let Some(tab) = tab_in_indentation(text, until) {
        return Problem::error("a tab stands in the indentation")
            .at(
                source,
                Span {
                    start: tab,
                    end: tab + 1,
                },
            )
            .label("a tab")
            .help("YAML indents with blanks only: replace each tab by two blanks");
    }
    match error.kind() {
        ErrorKind::UnknownAnchor => Problem::error("aliases (`*name`) are not accepted")
            .at(source, here)
            .help("write the value out, or put text that starts with `*` in quotes"),
        ErrorKind::UnclosedQuotedScalar | ErrorKind::UnexpectedEof => {
            Problem::error("a quotation mark is not closed")
                .at(source, here)
                .help("close it at the end of the text; if the mark itself is meant, put the text in quotes of the other kind")
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            colon(source, line_start, line, at)
        }
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation
            if closed_before(&text[line_start..at]) =>
        {
            Problem::error("text stands behind the closing bracket")
                .at(source, here)
                .help(quote_hint(line))
        }
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation => {
            Problem::error("the indentation of this line fits none of the lines above")
                .at(source, here)
                .help("indent it exactly as its neighbours of the same level; a step starts with `- `")
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Problem::error("text stands behind the closing quotation mark")
                .at(source, here)
                .help(single_quote_hint(line))
        }
        ErrorKind::MisplacedFlowCollectionEnd | ErrorKind::MismatchedFlowCollectionEnd { .. } => {
            Problem::error("this closing bracket closes nothing")
                .at(source, here)
                .help("take it out, or put text that holds brackets in quotes")
        }
        ErrorKind::CommentInterceptedScalar => {
            Problem::error("a comment stands in the middle of a text of several lines")
                .at(source, here)
                .help("put it in a line above the key; if it belongs to the text, put the text in quotes")
        }
        ErrorKind::RecursionLimitExceeded => {
            Problem::error(format!("nested deeper than {DEEPEST} levels"))
                .at(source, here)
                .help(NESTED)
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            Problem::error("a `[` or `{` is not closed")
                .at(source, here)
                .help("close it with `]` or `}`; if the bracket is part of a text, put the text in quotes")
        }
        _ if line.trim_start().starts_with(['@', '`', '%']) || starts_reserved(line) => {
            Problem::error("text can't start with this character unless it is in quotes")
                .at(source, here)
                .help(quote_hint(line))
        }
        _ => Problem::error(format!("this is not valid YAML: {}", error.info()))
            .at(source, here)
            .help("check the indentation of this line and the one above; text with `: `, ` #` or a leading special character needs quotes"),
    }
}

/// Whether a value in brackets has just ended: `[beta] ` of `- click: [beta] go`.
fn closed_before(head: &str) -> bool {
    let value = head.trim_start().trim_start_matches("- ");
    let value = value.split_once(": ").map_or(value, |(_, v)| v);
    value.trim_start().starts_with(['[', '{']) && head.trim_end().ends_with([']', '}'])
}

/// A `: ` where none can stand: a second one in the line, or a line that belongs elsewhere.
fn colon(source: &Arc<Source>, line_start: usize, line: &str, at: usize) -> Problem {
    let here = Span {
        start: at,
        end: (at + 1).min(source.text.len()),
    };
    let in_line = at.saturating_sub(line_start).min(line.len());
    if line
        .get(..in_line)
        .is_some_and(|before| before.contains(": "))
    {
        return Problem::error("a second `: ` stands in this line")
            .at(source, here)
            .help(quote_hint(line));
    }
    let above = source.text[..line_start]
        .trim_end()
        .lines()
        .last()
        .unwrap_or_default()
        .trim();
    let bare = above.trim_start_matches("- ");
    let problem = Problem::error("this line can't follow the one above").at(source, here);
    let help = match bare.split_once(':') {
        Some((key, value)) if value.is_empty() || value.starts_with(' ') => {
            format!(
                "it is indented further than `{key}`, which has a value already: indent both alike"
            )
        }
        Some((key, value)) if !key.contains(' ') => {
            format!("a blank is missing behind the colon in the line above: `{key}: {value}`")
        }
        _ => {
            let key = bare.split(' ').next().unwrap_or_default();
            format!("the line above has no `: `; if it is a key, write `{key}: …`")
        }
    };
    problem.help(help)
}

/// The text of the line in single quotes, so that its own quotation marks stay.
fn single_quote_hint(line: &str) -> String {
    let line = line.trim();
    let (head, text) = match line.split_once(": ") {
        Some((key, text)) if !key.contains(['"', '\'']) => (format!("{key}: "), text),
        _ => match line.strip_prefix("- ") {
            Some(text) => ("- ".to_string(), text),
            None => (String::new(), line),
        },
    };
    format!(
        "put the whole text in single quotes: {head}'{}'",
        text.trim().replace('\'', "''")
    )
}

fn starts_reserved(line: &str) -> bool {
    let value = line.trim_start().trim_start_matches("- ");
    let value = value
        .split_once(": ")
        .map_or(value, |(_, v)| v)
        .trim_start();
    value.starts_with(['@', '`', '%'])
}

/// The line as it should be written: the text behind `- ` or the first `: ` in quotes.
fn quote_hint(line: &str) -> String {
    let line = line.trim();
    let item = line.strip_prefix("- ");
    let (head, text) = match line.split_once(": ") {
        Some((key, text)) if !key.trim_start_matches("- ").contains(' ') => {
            (format!("{key}: "), text)
        }
        _ if item.is_some() => ("- ".to_string(), item.unwrap_or_default()),
        _ => (String::new(), line),
    };
    let text = text.trim().replace('\\', "\\\\").replace('"', "\\\"");
    format!("put the text in quotes: {head}\"{text}\"")
}

/// The first tab before the first other character of a line, up to the line of `at`.
fn tab_in_indentation(text: &str, at: usize) -> Option<usize> {
    let end = text[at..].find('\n').map_or(text.len(), |i| at + i);
    let mut start = 0;
    for line in text[..end].split_inclusive('\n') {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        if blank < line.trim_end().len()
            && let Some(tab) = line[..blank].find('\t')
        {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}
