//! The one renderer of problems: `file:line:column`, an excerpt of the source, what to do.
//!
//! Console and JUnit show the same words; only the colour differs.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    AnnotationKind, Group, Level as Tone, Renderer, Snippet, normalize_untrusted_str,
};

use super::{Level, Problem, Span, border, cut, line_col, without_sequences};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// No escape sequence at all: files, JUnit, pipes.
    #[default]
    Plain,
    Colour,
}

/// Lines longer than this are not worth drawing an excerpt for.
const LONGEST_LINE: usize = 400;

/// The problem as a person reads it, without a trailing line break.
pub fn problem(problem: &Problem, style: Style) -> String {
    let tone = match problem.level {
        Level::Error => Tone::ERROR,
        Level::Warning => Tone::WARNING,
    };
    let message = plain(&problem.message);
    let mut group = Group::with_title(tone.primary_title(message.as_str()));
    let excerpt = Excerpt::of(problem);
    if let Some(excerpt) = &excerpt {
        group = group.element(excerpt.snippet());
    }
    let help = problem.help.as_deref().map(plain);
    if let Some(help) = &help {
        group = group.element(Tone::HELP.message(help.as_str()));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    renderer.decor_style(DecorStyle::Ascii).render(&[group])
}

/// Words without anything a terminal would act on. Excerpts keep their columns instead.
fn plain(words: &str) -> String {
    normalize_untrusted_str(&without_sequences(words))
}

/// `file:line:col: error: message`, for lists and titles.
pub fn one_line(problem: &Problem) -> String {
    let level = match problem.level {
        Level::Error => "error",
        Level::Warning => "warning",
    };
    match place(problem) {
        Some(place) => format!("{place}: {level}: {}", without_sequences(&problem.message)),
        None => format!("{level}: {}", without_sequences(&problem.message)),
    }
}

/// `file:line:col` of a problem, if it has a place.
pub fn place(problem: &Problem) -> Option<String> {
    let (source, span) = problem.place.as_ref()?;
    let (line, column) = line_col(&source.text, span.start);
    Some(format!("{}:{line}:{column}", source.path.display()))
}

/// The lines around the marked places, owned so that odd characters can be replaced in them.
struct Excerpt {
    path: String,
    text: String,
    first_line: usize,
    marks: Vec<(std::ops::Range<usize>, Option<String>, bool)>,
}

impl Excerpt {
    fn of(problem: &Problem) -> Option<Self> {
        let (source, span) = problem.place.as_ref()?;
        let text = &source.text;
        let spans = std::iter::once((*span, problem.label.as_deref().map(str::to_owned), true))
            .chain(
                problem
                    .also
                    .iter()
                    .map(|(s, l)| (*s, Some(l.clone()), false)),
            );
        let spans: Vec<_> = spans
            .map(|(s, l, main)| (one_line_span(text, s), l, main))
            .collect();
        let start = spans.iter().map(|(s, ..)| s.start).min()?;
        let end = spans.iter().map(|(s, ..)| s.end).max()?;
        let start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let end = text[end..].find('\n').map_or(text.len(), |i| end + i);
        let piece = &text[start..end];
        if piece.lines().any(|l| l.len() > LONGEST_LINE) {
            return Self::long_line(problem);
        }
        let marks = spans
            .into_iter()
            .map(|(s, l, main)| (s.start - start..s.end - start, l, main))
            .collect();
        Some(Self {
            path: source.path.display().to_string(),
            text: piece.to_string(),
            first_line: line_col(text, start).0,
            marks,
        })
    }

    /// A window into a line too long to print: the column would lie, so the place goes in words.
    fn long_line(problem: &Problem) -> Option<Self> {
        let (source, span) = problem.place.as_ref()?;
        let (line, column) = line_col(&source.text, span.start);
        let span = one_line_span(&source.text, *span);
        let shown = cut(
            source.text[span.start..].lines().next().unwrap_or_default(),
            80,
        );
        let label = problem.label.clone().unwrap_or_default();
        Some(Self {
            path: source.path.display().to_string(),
            marks: vec![(
                0..shown.len().min(span.end - span.start),
                Some(format!("column {column} {label}").trim().to_string()),
                true,
            )],
            text: shown,
            first_line: line,
        })
    }

    fn snippet(&self) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        let marks = self.marks.iter().map(|(range, label, main)| {
            let kind = if *main {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            kind.span(range.clone()).label(label.as_deref())
        });
        Snippet::source(self.text.as_str())
            .path(self.path.as_str())
            .line_start(self.first_line)
            .annotations(marks)
    }
}

/// The span within its first line and the text: a mark over many lines says less than its start.
fn one_line_span(text: &str, span: Span) -> Span {
    let start = border(text, span.start);
    let end = border(text, span.end).max(start);
    let end = text[start..end]
        .find(['\n', '\r'])
        .map_or(end, |i| start + i);
    Span { start, end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Source;
    use std::sync::Arc;

    fn source(text: &str) -> Arc<Source> {
        Arc::new(Source {
            path: "scenarios/a.yaml".into(),
            text: text.into(),
        })
    }

    #[test]
    fn case_139_file_line_column_excerpt_and_help_stand_there() {
        let source = source("name: A\nsteps:\n  - click: Save\n    timout: 5s\n");
        let at = source.text.find("timout").unwrap();
        let p = Problem::error("unknown key `timout`")
            .at(
                &source,
                Span {
                    start: at,
                    end: at + 6,
                },
            )
            .label("not known here")
            .help("did you mean `timeout`?");
        insta::assert_snapshot!(problem(&p, Style::Plain));
        assert_eq!(
            one_line(&p),
            "scenarios/a.yaml:4:5: error: unknown key `timout`"
        );
        assert!(problem(&p, Style::Colour).contains("\u{1b}["));
    }

    #[test]
    fn case_098_a_source_with_escapes_renders_without_them() {
        let source = source("name: \u{1b}[31mred\n");
        let p = Problem::error("bad \u{1b}[31m").at(&source, Span { start: 6, end: 9 });
        assert!(!problem(&p, Style::Plain).contains('\u{1b}'));
        let bare = Problem::error("a \u{1b}[31mred\u{1b}[0m b").help("\u{1b}[1mtry\u{1b}[0m");
        assert_eq!(
            problem(&bare, Style::Plain),
            "error: a red b\n |\n = help: try"
        );
    }

    #[test]
    fn places_outside_the_text_do_not_panic() {
        let source = source("é");
        for (start, end) in [(0, 1), (1, 1), (5, 9), (0, 99)] {
            problem(
                &Problem::error("x").at(&source, Span { start, end }),
                Style::Plain,
            );
        }
    }
}
