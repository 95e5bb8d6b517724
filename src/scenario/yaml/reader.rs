//! From events to the tree.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, ScanError};

use super::{
    DEEPEST, Entry, Kind, LARGEST_FILE, MOST_PROBLEMS, NESTED, Node, Scalar, syntax::syntax,
    too_large,
};
use crate::text::{Problem, Source, Span, Spanned, border, line_col, visible};

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
        /// Where each key stands: a map of a hundred thousand keys must not take forever.
        seen: HashMap<String, Span>,
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
                .help("fill it or remove it; `rehearsal init` makes a suite with a first scenario")
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
                        seen: HashMap::new(),
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
                .help(NESTED)
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
                .refused("tags (`!name`) are not accepted", self.mark('!', span))
                .help("put text that starts with `!` in quotes")
                .into());
        }
        Ok(())
    }

    fn anchor(&self, span: Span) -> Problem {
        self.refused("anchors (`&name`) are not accepted", self.mark('&', span))
            .help("write the value out where it is needed, or put text that starts with `&` in quotes")
    }

    /// Where an anchor or a tag stands: the word with that sign before its node, which is all the
    /// parser tells the place of.
    fn mark(&self, sign: char, node: Span) -> Span {
        let text = &self.source.text;
        let mut before = text[..node.start].trim_end();
        if text[node.start..].starts_with(sign) {
            return node;
        }
        // An anchor and a tag may stand before one node, in either order.
        for _ in 0..2 {
            let apart = |c: char| c.is_whitespace() || "[{,".contains(c);
            let start = before.rfind(apart).map_or(0, |at| {
                at + before[at..].chars().next().map_or(1, char::len_utf8)
            });
            if before[start..].starts_with(sign) {
                let end = before.len();
                return Span { start, end };
            }
            before = before[..start].trim_end();
        }
        node
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
            Some(Open::Map {
                key, entries, seen, ..
            }) => match (key.take(), node) {
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
                (None, node) => Err(self
                    .refused("a key must be text", node.span)
                    .help("text that starts with `[` or `{` must be put in quotes")
                    .into()),
                (Some(name), value) => {
                    if let Some(first) = seen.get(&name.value) {
                        if self.problems.len() >= MOST_PROBLEMS {
                            return Ok(());
                        }
                        let line = |at: usize| line_col(&self.source.text, at).0;
                        let problem = Problem::error(format!(
                            "`{}` stands twice in this map: in line {} and in line {}",
                            visible(&name),
                            line(first.start),
                            line(name.span.start)
                        ))
                        .at(self.source, name.span)
                        .label("the second one")
                        .also(*first, "the first one")
                        .help("keep one of them");
                        self.problems.push(problem);
                    } else {
                        seen.insert(name.value.clone(), name.span);
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
