//! The reader's answer, and how it becomes a [`Document`].
//!
//! Columns instead of objects: one array per property, one entry per element, so that ten thousand
//! controls cost half a megabyte and not ten; [`columns`] says how they are packed. Places in the text are
//! UTF-16 offsets there and bytes here.

use std::ops::Range;

use serde::Deserialize;

use super::columns::{self, SEPARATOR, Words};
use super::observation::{Document, Hint, HintKind, Node, Rect, States, Tri, Unread, UnreadKind};
use super::realm::{ReadError, shape};
use super::scrub::{self, Scrub, Scrubbed};

const WHAT: &str = "a read";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    generation: u32,
    url: String,
    title: String,
    ready: bool,
    focus: i64,
    text: String,
    roles: Vec<String>,
    tags: Vec<String>,
    frames: Vec<Vec<String>>,
    /// How many elements before this one its parent stands; 0 for none.
    parent: Vec<u32>,
    /// Role, tag and flags of each kind of element.
    kinds: Vec<u32>,
    kind: Vec<usize>,
    name: String,
    start: Vec<i64>,
    length: Vec<usize>,
    rect: Vec<f64>,
    /// Empty where no frame was read in place.
    frame: Vec<i64>,
    r#type: Words,
    test_id: Words,
    href: Words,
    hints: Words,
    value: Words,
    /// A row for each option.
    options: Words,
    disabled_by: Words,
    /// Pairs of an index (as a step) and a level.
    level: Vec<i64>,
    column: Words,
    /// What style sheets write into elements.
    styled: Words,
    unread: Vec<(UnreadKind, String)>,
    /// Frames of another origin: index of the frame element (-1: not listed) and its address.
    pub(super) owned: Vec<(i64, String)>,
    /// Hosts that may hide a closed root.
    pub(super) suspects: usize,
    /// Custom elements of which only the browser may know the role.
    #[serde(default)]
    pub(super) customs: usize,
    sought: Vec<Option<Vec<u32>>>,
}

/// A decoded document with what the pictures need: where secrets stand in its unscrubbed text.
pub(super) struct Decoded {
    pub document: Document,
    pub unread: Vec<Unread>,
    /// Flat pairs of UTF-16 offsets, for `rectangles`.
    pub marks: Vec<u32>,
    /// Elements into which a style sheet writes a secret.
    pub styled: Vec<u32>,
}

pub(super) fn parse(text: &str) -> Result<Answer, ReadError> {
    let mut answer: Answer = serde_json::from_str(text).map_err(|e| shape(WHAT, e))?;
    answer.text = answer.text.replace(SEPARATOR, "\n");
    columns::rectangles(&mut answer.rect);
    let n = answer.parent.len();
    let columns = [
        answer.kind.len(),
        answer.start.len(),
        answer.length.len(),
        answer.rect.len() / 4,
    ];
    if columns.iter().any(|&len| len != n) {
        return Err(shape(WHAT, format!("{n} elements, columns {columns:?}")));
    }
    Ok(answer)
}

pub(super) fn decode(
    answer: Answer,
    context: &str,
    generation: u32,
    scrub: &dyn Scrub,
) -> Result<Decoded, ReadError> {
    if answer.generation != generation {
        return Err(shape(
            WHAT,
            format!("generation {} instead of {generation}", answer.generation),
        ));
    }
    let places = Places::new(&answer.text);
    let found = scrub.find(&answer.text);
    let marks = found
        .iter()
        .flat_map(|(span, _)| [places.utf16(span.start), places.utf16(span.end)])
        .collect();
    let scrubbed = Scrubbed::new(&answer.text, scrub::without_seams(&answer.text, found));
    let clean = |text: String| scrub::string(scrub, text);

    let mut nodes = nodes(&answer, &places, &scrubbed, &clean)?;
    let n = nodes.len();
    for (i, v) in answer.r#type.rows() {
        at(&mut nodes, i)?.input_type = Some(v.to_owned());
    }
    for (i, v) in answer.test_id.rows() {
        at(&mut nodes, i)?.test_id = Some(clean(v.to_owned()));
    }
    for (i, v) in answer.href.rows() {
        at(&mut nodes, i)?.href = Some(clean(v.to_owned()));
    }
    for (i, kind, text) in answer.hints.kinds() {
        let kind = hint_kind(kind).ok_or_else(|| shape(WHAT, format!("a hint of kind {kind}")))?;
        let text = clean(text.to_owned());
        at(&mut nodes, i)?.hints.push(Hint { kind, text });
    }
    for (i, v) in answer.value.rows() {
        at(&mut nodes, i)?.states.value = Some(clean(v.to_owned()));
    }
    for (i, v) in answer.options.rows() {
        let option = clean(v.to_owned());
        at(&mut nodes, i)?.states.options.push(option);
    }
    for (i, v) in answer.disabled_by.rows() {
        at(&mut nodes, i)?.states.disabled_by = Some(clean(v.to_owned()));
    }
    let levels = answer.level.as_chunks::<2>().0;
    for (i, [_, level]) in columns::indices(levels.iter().map(|pair| pair[0])).zip(levels) {
        at(&mut nodes, i)?.states.level = u8::try_from(*level).ok();
    }
    for (i, v) in answer.column.rows() {
        at(&mut nodes, i)?.column = Some(clean(v.to_owned()));
    }
    let shown = |text: &str| !scrub.find(text).is_empty();
    let styled = answer.styled.rows().filter(|(_, text)| shown(text));
    let styled = styled
        .filter_map(|(at, _)| u32::try_from(at).ok())
        .collect();
    Ok(Decoded {
        document: Document {
            context: context.to_owned(),
            url: clean(answer.url),
            owner: None,
            text: scrubbed.text,
            nodes,
            ready: answer.ready,
            focus: u32::try_from(answer.focus)
                .ok()
                .filter(|&f| (f as usize) < n),
            sought: answer.sought,
        },
        unread: answer
            .unread
            .into_iter()
            .map(|(kind, what)| Unread {
                kind,
                what: clean(what),
            })
            .collect(),
        marks,
        styled,
    })
}

impl Answer {
    pub(super) fn title(&self) -> &str {
        &self.title
    }
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

fn at(nodes: &mut [Node], index: usize) -> Result<&mut Node, ReadError> {
    let n = nodes.len();
    nodes
        .get_mut(index)
        .ok_or_else(|| shape(WHAT, format!("a property of element {index} of {n}")))
}

fn nodes(
    answer: &Answer,
    places: &Places,
    scrubbed: &Scrubbed,
    clean: &dyn Fn(String) -> String,
) -> Result<Vec<Node>, ReadError> {
    let mut names = answer.name.split(SEPARATOR);
    let frames: Vec<Vec<String>> = answer
        .frames
        .iter()
        .map(|path| path.iter().cloned().map(clean).collect())
        .collect();
    let kinds = answer.kinds.as_chunks::<3>().0;
    let word = |table: &[String], i: u32| {
        table
            .get(i as usize)
            .cloned()
            .ok_or_else(|| shape(WHAT, format!("word {i} of {}", table.len())))
    };
    let mut nodes = Vec::with_capacity(answer.parent.len());
    for (i, start) in columns::indices(answer.start.iter().copied()).enumerate() {
        let &[role, tag, flags] = kinds
            .get(answer.kind[i])
            .ok_or_else(|| shape(WHAT, format!("kind {} of {}", answer.kind[i], kinds.len())))?;
        let end = start.saturating_add(answer.length[i]);
        let span = places.bytes(start)..places.bytes(end);
        let written = names.next().unwrap_or_default();
        let name = if flags & NAMED_BY_TEXT != 0 {
            answer.text.get(span.clone()).unwrap_or_default()
        } else {
            written
        };
        let parent = match answer.parent[i] {
            0 => None,
            before => Some(
                (i as u32)
                    .checked_sub(before)
                    .ok_or_else(|| shape(WHAT, format!("element {i} lies before its parent")))?,
            ),
        };
        nodes.push(Node {
            parent,
            role: word(&answer.roles, role)?,
            name: clean(name.to_owned()),
            states: states(flags),
            text: scrubbed.map(ordered(span)),
            rect: rect(&answer.rect[i * 4..i * 4 + 4]),
            tag: word(&answer.tags, tag)?,
            interactive: flags & INTERACTIVE != 0,
            reachable: flags & REACHABLE != 0,
            frames: answer
                .frame
                .get(i)
                .and_then(|&f| frames.get(usize::try_from(f).ok()?).cloned())
                .unwrap_or_default(),
            ..Node::default()
        });
    }
    Ok(nodes)
}

fn hint_kind(kind: i64) -> Option<HintKind> {
    Some(match kind {
        0 => HintKind::Title,
        1 => HintKind::Placeholder,
        2 => HintKind::NameAttribute,
        3 => HintKind::Tooltip,
        4 => HintKind::Description,
        _ => return None,
    })
}

fn ordered(range: Range<usize>) -> Range<usize> {
    range.start.min(range.end)..range.end
}

/// A box of negative size stands for "no box".
fn rect(numbers: &[f64]) -> Option<Rect> {
    let &[x, y, width, height] = numbers else {
        return None;
    };
    (width >= 0.0).then_some(Rect {
        x,
        y,
        width,
        height,
    })
}

// Bits of the `flags` column; the names stand in js/read.js.
const INTERACTIVE: u32 = 1;
const REACHABLE: u32 = 2;
const DISABLED: u32 = 4;
const READ_ONLY: u32 = 8;
const REQUIRED: u32 = 16;
const INVALID: u32 = 32;
const BUSY: u32 = 64;
const MODAL: u32 = 128;
const MULTISELECTABLE: u32 = 256;
const POPUP: u32 = 512;
const MULTILINE: u32 = 1024;
const LIVE: u32 = 2048;
const EXPANDED_KNOWN: u32 = 4096;
const EXPANDED: u32 = 8192;
const SELECTED_KNOWN: u32 = 16384;
const SELECTED: u32 = 32768;
const NAMED_BY_TEXT: u32 = 1 << 20;

fn states(flags: u32) -> States {
    let is = |bit: u32| flags & bit != 0;
    let tri = |shift: u32| match flags >> shift & 3 {
        1 => Some(Tri::False),
        2 => Some(Tri::True),
        3 => Some(Tri::Mixed),
        _ => None,
    };
    States {
        checked: tri(16),
        pressed: tri(18),
        expanded: is(EXPANDED_KNOWN).then_some(is(EXPANDED)),
        selected: is(SELECTED_KNOWN).then_some(is(SELECTED)),
        disabled: is(DISABLED),
        read_only: is(READ_ONLY),
        required: is(REQUIRED),
        invalid: is(INVALID),
        busy: is(BUSY),
        modal: is(MODAL),
        multiselectable: is(MULTISELECTABLE),
        has_popup: is(POPUP),
        multiline: is(MULTILINE),
        live: is(LIVE),
        ..States::default()
    }
}

/// UTF-16 offsets to bytes and back. A plain ASCII text needs no table.
struct Places {
    /// Byte offset per UTF-16 unit, one more at the end; empty for ASCII.
    table: Vec<usize>,
    len: usize,
}

impl Places {
    fn new(text: &str) -> Self {
        let mut table = Vec::new();
        if !text.is_ascii() {
            for (at, letter) in text.char_indices() {
                for _ in 0..letter.len_utf16() {
                    table.push(at);
                }
            }
            table.push(text.len());
        }
        Self {
            table,
            len: text.len(),
        }
    }

    fn bytes(&self, utf16: usize) -> usize {
        if self.table.is_empty() {
            return utf16.min(self.len);
        }
        self.table.get(utf16).copied().unwrap_or(self.len)
    }

    fn utf16(&self, byte: usize) -> u32 {
        let at = if self.table.is_empty() {
            byte.min(self.len)
        } else {
            self.table.partition_point(|&b| b < byte)
        };
        at as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_text_are_bytes_after_letters_of_every_width() {
        let text = "aé€🚢z";
        let places = Places::new(text);
        let ends: Vec<usize> = (0..=6).map(|u| places.bytes(u)).collect();
        assert_eq!(ends, [0, 1, 3, 6, 6, 10, 11]);
        assert_eq!(places.utf16(10), 5);
        assert_eq!(places.utf16(11), 6);
    }

    #[test]
    fn flags_become_states() {
        let s = states(EXPANDED_KNOWN | DISABLED | 3 << 16 | 1 << 18);
        assert_eq!(s.expanded, Some(false));
        assert_eq!(s.checked, Some(Tri::Mixed));
        assert_eq!(s.pressed, Some(Tri::False));
        assert!(s.disabled && s.selected.is_none());
    }
}
