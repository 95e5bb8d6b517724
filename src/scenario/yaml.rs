//! YAML 1.2 as an own tree: scalars as written, the place of every key and value.
//!
//! Only what a data file needs is accepted. Anchors, aliases, merge keys, tags, further documents
//! and excess of size or depth are refused while the events come in, before anything is built, so
//! that no file can make the reader work harder than its own length.

use std::path::Path;
use std::sync::Arc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};

use crate::text::{Problem, Source, Span, Spanned, border, line_col, visible};

pub const LARGEST_FILE: usize = 1 << 20;
pub const DEEPEST: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Plain scalars keep their source text; quoted ones have their escapes replaced.
    pub text: String,
    /// Written without quotes, so it may be meant as a number, a boolean or nothing.
    pub plain: bool,
    /// A comment on the same line that may have swallowed a piece of the text (`Order #7`).
    pub swallowed: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: Spanned<String>,
    pub value: Node,
}

impl Scalar {
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

impl Node {
    /// What stands here, in words for a message.
    pub fn found(&self) -> String {
        match &self.kind {
            Kind::Scalar(s) if s.is_null() && s.text.is_empty() => "nothing".into(),
            Kind::Scalar(s) => format!("`{}`", crate::text::cut(&visible(&s.text), 40)),
            Kind::List(items) => format!("a list of {}", items.len()),
            Kind::Map(entries) if entries.is_empty() => "an empty map".into(),
            Kind::Map(entries) => format!("a map with `{}`", visible(&entries[0].key)),
        }
    }
}

/// Reads a file, refusing what isn't text or is too large before it is held in memory.
pub fn load(path: &Path, shown: &Path) -> Result<Arc<Source>, Box<Problem>> {
    let name = shown.display();
    let size = std::fs::metadata(path)
        .map_err(|e| Box::new(Problem::error(format!("{name} can't be read: {e}"))))?
        .len();
    if size > LARGEST_FILE as u64 {
        return Err(too_large(shown, size).into());
    }
    let bytes = std::fs::read(path)
        .map_err(|e| Box::new(Problem::error(format!("{name} can't be read: {e}"))))?;
    decode(shown, bytes)
}

pub fn decode(shown: &Path, bytes: Vec<u8>) -> Result<Arc<Source>, Box<Problem>> {
    let name = shown.display();
    if bytes.len() > LARGEST_FILE {
        return Err(too_large(shown, bytes.len() as u64).into());
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(Problem::error(format!("{name} is written in UTF-16"))
            .help("save it as UTF-8")
            .into());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Arc::new(Source {
            path: shown.to_path_buf(),
            text,
        })),
        Err(e) => {
            let good = e.utf8_error().valid_up_to();
            let bytes = e.into_bytes();
            let before = String::from_utf8_lossy(&bytes[..good]);
            let (line, column) = line_col(&before, good);
            Err(Problem::error(format!(
                "{name}:{line}:{column}: byte 0x{:02X} is not valid UTF-8",
                bytes[good]
            ))
            .help("save the file as UTF-8")
            .into())
        }
    }
}

fn too_large(shown: &Path, size: u64) -> Problem {
    Problem::error(format!(
        "{} is too large: {} KiB, and {} KiB are the limit",
        shown.display(),
        size.div_ceil(1024),
        LARGEST_FILE / 1024
    ))
    .help("split it; one file holds one scenario")
}

/// The tree of a source. `Err` is the first syntax problem; duplicate keys come beside the tree,
/// which keeps the first of them.
pub fn read(source: &Arc<Source>) -> Result<(Node, Vec<Problem>), Box<Problem>> {
    let text = &source.text;
    if text.len() > LARGEST_FILE {
        return Err(too_large(&source.path, text.len() as u64).into());
    }
    let skipped = if text.starts_with('\u{FEFF}') { 3 } else { 0 };
    let reader = Reader {
        source,
        skipped,
        open: Vec::new(),
        root: None,
        problems: Vec::new(),
        documents: 0,
        last_plain: false,
    };
    reader.run()
}

/// A collection whose end has not come yet.
enum Open {
    List(Vec<Node>, usize),
    Map {
        entries: Vec<Entry>,
        key: Option<Spanned<String>>,
        start: usize,
    },
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    skipped: usize,
    open: Vec<Open>,
    root: Option<Node>,
    problems: Vec<Problem>,
    documents: usize,
    /// The event before this one was a plain scalar.
    last_plain: bool,
}

impl Reader<'_> {
    fn run(mut self) -> Result<(Node, Vec<Problem>), Box<Problem>> {
        let source = self.source;
        for next in Parser::new_from_str(&source.text[self.skipped..]) {
            let (event, span) = next.map_err(|e| self.syntax(&e))?;
            let span = self.span(&span);
            self.event(event, span)?;
        }
        let empty = match &self.root {
            None => true,
            Some(Node {
                kind: Kind::Scalar(s),
                ..
            }) => s.is_null(),
            Some(_) => false,
        };
        match self.root {
            Some(root) if !empty => Ok((root, self.problems)),
            _ => Err(Problem::error("the file is empty")
                .at(source, Span::default())
                .into()),
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Problem>> {
        let was_plain = std::mem::take(&mut self.last_plain);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self
                        .refused("a second document starts here", span)
                        .help("one file holds one scenario; move this part to a file of its own")
                        .into());
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(self
                    .refused("aliases (`*name`) are not accepted", span)
                    .help("write the value out, or put text that starts with `*` in quotes")
                    .into());
            }
            Event::Anchor(..) => return Err(self.anchor(span).into()),
            Event::Comment(..) if was_plain => self.comment(span),
            Event::Scalar(value, style, anchor, tag) => {
                self.plain_node(anchor, tag.is_some(), span)?;
                let plain = style == ScalarStyle::Plain;
                self.last_plain = plain;
                let text = if plain {
                    self.plain_text(&value, span)
                } else {
                    value.into_owned()
                };
                self.close(Node {
                    kind: Kind::Scalar(Scalar {
                        text,
                        plain,
                        swallowed: None,
                    }),
                    span,
                })?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.plain_node(anchor, tag.is_some(), span)?;
                self.descend(Open::List(Vec::new(), span.start), span)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.plain_node(anchor, tag.is_some(), span)?;
                self.descend(
                    Open::Map {
                        entries: Vec::new(),
                        key: None,
                        start: span.start,
                    },
                    span,
                )?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let node = match self.open.pop() {
                    Some(Open::List(items, start)) => Node {
                        span: self.ending(start, items.last().map(|n| n.span.end), span),
                        kind: Kind::List(items),
                    },
                    Some(Open::Map { entries, start, .. }) => Node {
                        span: self.ending(start, entries.last().map(|e| e.value.span.end), span),
                        kind: Kind::Map(entries),
                    },
                    None => return Ok(()),
                };
                self.close(node)?;
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            _ => {}
        }
        Ok(())
    }

    /// Plain text of one line is taken from the source, so nothing can have changed its look.
    fn plain_text(&self, value: &str, span: Span) -> String {
        match self.source.text.get(span.start..span.end) {
            Some(written) if !written.contains('\n') => written.trim_end().to_string(),
            _ => value.to_string(),
        }
    }

    /// The end mark of a block collection lies where the next thing starts: too far.
    fn ending(&self, start: usize, last: Option<usize>, end: Span) -> Span {
        let closed = self.source.text[..end.end].ends_with([']', '}']);
        let end = if closed {
            end.end
        } else {
            last.unwrap_or(end.end)
        };
        Span {
            start,
            end: end.max(start),
        }
    }

    fn descend(&mut self, open: Open, span: Span) -> Result<(), Box<Problem>> {
        if self.open.len() >= DEEPEST {
            return Err(self
                .refused(&format!("nested deeper than {DEEPEST} levels"), span)
                .into());
        }
        self.key_wanted(span)?;
        self.open.push(open);
        Ok(())
    }

    /// Refuses a list or map where a key belongs.
    fn key_wanted(&self, span: Span) -> Result<(), Box<Problem>> {
        match self.open.last() {
            Some(Open::Map { key: None, .. }) => Err(self
                .refused("a key must be text", span)
                .help("text that starts with `[` or `{` must be put in quotes")
                .into()),
            _ => Ok(()),
        }
    }

    fn plain_node(&self, anchor: usize, tagged: bool, span: Span) -> Result<(), Box<Problem>> {
        if anchor != 0 {
            return Err(self.anchor(span).into());
        }
        if tagged {
            return Err(self
                .refused("tags (`!name`) are not accepted", span)
                .help("put text that starts with `!` in quotes")
                .into());
        }
        Ok(())
    }

    fn anchor(&self, span: Span) -> Problem {
        self.refused("anchors (`&name`) are not accepted", span)
            .help("write the value out where it is needed, or put text that starts with `&` in quotes")
    }

    fn close(&mut self, node: Node) -> Result<(), Box<Problem>> {
        match self.open.last_mut() {
            None => {
                self.root = Some(node);
                Ok(())
            }
            Some(Open::List(items, _)) => {
                items.push(node);
                Ok(())
            }
            Some(Open::Map { key, entries, .. }) => match (key.take(), node) {
                (
                    None,
                    Node {
                        kind: Kind::Scalar(s),
                        span,
                    },
                ) => {
                    if s.plain && s.text == "<<" {
                        return Err(self
                            .refused("merge keys (`<<`) are not accepted", span)
                            .help("write the keys out")
                            .into());
                    }
                    *key = Some(Spanned::new(s.text, span));
                    Ok(())
                }
                (None, node) => Err(self.refused("a key must be text", node.span).into()),
                (Some(name), value) => {
                    if let Some(first) = entries.iter().find(|e| e.key.value == name.value) {
                        let line = |at: usize| line_col(&self.source.text, at).0;
                        let problem = Problem::error(format!(
                            "`{}` stands twice in this map: in line {} and in line {}",
                            visible(&name),
                            line(first.key.span.start),
                            line(name.span.start)
                        ))
                        .at(self.source, name.span)
                        .label("the second one")
                        .also(first.key.span, "the first one")
                        .help("keep one of them");
                        self.problems.push(problem);
                    } else {
                        entries.push(Entry { key: name, value });
                    }
                    Ok(())
                }
            },
        }
    }

    /// Notes a comment that looks like a piece of the text before it: after one blank, or without
    /// a blank behind the `#`. Two blanks and `# ` are how comments are written on purpose.
    fn comment(&mut self, span: Span) {
        let text = &self.source.text;
        let before = &text[..span.start];
        if before.trim_end_matches([' ', '\t']).ends_with('\n') {
            return;
        }
        let blanks = before.len() - before.trim_end_matches([' ', '\t']).len();
        let spaced = text[span.start..].starts_with("# ") || text[span.start..].starts_with("#\t");
        if blanks >= 2 && spaced {
            return;
        }
        let node = match self.open.last_mut() {
            Some(Open::List(items, _)) => items.last_mut(),
            Some(Open::Map {
                entries, key: None, ..
            }) => entries.last_mut().map(|e| &mut e.value),
            Some(Open::Map { .. }) => None,
            None => self.root.as_mut(),
        };
        if let Some(Node {
            kind: Kind::Scalar(s),
            ..
        }) = node
        {
            s.swallowed = Some(span);
        }
    }

    fn refused(&self, message: &str, span: Span) -> Problem {
        Problem::error(message).at(self.source, span)
    }

    fn span(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or(0..0);
        Span {
            start: range.start + self.skipped,
            end: range.end + self.skipped,
        }
    }

    fn syntax(&self, error: &ScanError) -> Problem {
        let at = error.marker().byte_offset().unwrap_or(0) + self.skipped;
        let text = &self.source.text;
        let at = border(text, at);
        syntax(self.source, error, at)
    }
}

/// Own words for what the scanner found, with the likely mistake first.
fn syntax(source: &Arc<Source>, error: &ScanError, at: usize) -> Problem {
    let text = &source.text;
    let line_start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let here = Span {
        start: at,
        end: (at + 1).min(text.len()),
    };
    if let Some(tab) = tab_in_indentation(text, at) {
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
            Problem::error("a quotation mark is not closed").at(source, here)
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            Problem::error("a second `: ` stands in this line")
                .at(source, here)
                .help(quote_hint(line))
        }
        ErrorKind::RecursionLimitExceeded => {
            Problem::error(format!("nested deeper than {DEEPEST} levels")).at(source, here)
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            Problem::error("a `[` or `{` is not closed").at(source, here)
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
