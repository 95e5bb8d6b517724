//! The search itself: all forms of all values in one pass, overlaps merged.
//!
//! Overlapping matches are all found and their union is replaced: replacing one value first would
//! cut another one in two and leave a readable piece of it.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::fold;
use super::forms::{Edge, Form, Remedy};
use super::needles::{Needle, Needles, automaton, skeleton};
use super::overlap::{Found, cut, merge, settle, word_in_bytes};
use super::seams::Seamless;

/// One registered value or mask, as the matcher knows it.
pub struct Entry {
    /// `‹name.field›`
    pub placeholder: String,
    /// `name.field`, for reports.
    pub label: String,
    pub forms: Vec<Form>,
    /// Folded forms for the loose search, with their names; empty for short values.
    pub loose: Vec<(&'static str, Vec<u8>)>,
    /// Letters and digits only, for the scan; none for values with few of them.
    pub scattered: Option<Vec<u8>>,
    pub word: bool,
    pub user_name: bool,
    pub digits: Digits,
}

/// Numbers are everywhere in files of our own: sizes, times, years. A value made of digits is
/// replaced on pages like any other, but a number in a file is not taken for a leak of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    No,
    /// Six and more: a leak, but for the number of a JSON member.
    Long,
    /// Never a leak.
    Short,
}

impl Digits {
    pub fn of(value: &str) -> Self {
        match (value.bytes().all(|b| b.is_ascii_digit()), value.len()) {
            (false, _) => Self::No,
            (true, ..6) => Self::Short,
            (true, _) => Self::Long,
        }
    }
}

/// A pattern a person asked to be masked.
pub struct MaskEntry {
    pub placeholder: String,
    pub pattern: regex::Regex,
}

/// Built once per registration, shared by every search.
#[derive(Default)]
pub struct Matcher {
    placeholders: Vec<String>,
    labels: Vec<String>,
    digits: Vec<Digits>,
    exact: Needles,
    loose: Needles,
    hidden: Needles,
    scattered: Needles,
    /// Placeholders that stand in a text already.
    own: Option<AhoCorasick>,
    /// Names of scenarios: a user name inside one stays.
    kept: Option<AhoCorasick>,
    user_names: Vec<bool>,
    masks: Vec<(usize, regex::Regex)>,
    /// Forms whose beginning tells something, for texts that were cut.
    cuttable: Vec<(usize, Vec<u8>)>,
}

/// Where a text was cut for its length.
const CUT: char = '…';
/// Shorter beginnings of a value tell too little to be hidden; a word is common text for longer.
pub const BEGINNING: usize = 6;
const BEGINNING_WORD: usize = 8;

fn tells(beginning: &[u8]) -> bool {
    let is_word = beginning.iter().all(u8::is_ascii_alphabetic);
    beginning.len() >= if is_word { BEGINNING_WORD } else { BEGINNING }
}

impl Matcher {
    pub fn new(entries: &[Entry], masks: &[MaskEntry]) -> Self {
        let mut exact = Vec::new();
        let mut loose = Vec::new();
        let mut hidden = Vec::new();
        let mut scattered = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            for form in &entry.forms {
                let needle = Needle {
                    entry: at,
                    form: form.name,
                    word: form.edge == Edge::Word,
                };
                match form.remedy {
                    Remedy::Redact => exact.push((form.bytes.as_slice(), needle)),
                    Remedy::ScanOnly => hidden.push((form.bytes.as_slice(), needle)),
                }
            }
            for (form, folded) in &entry.loose {
                let needle = Needle {
                    entry: at,
                    form,
                    word: entry.word,
                };
                loose.push((folded.as_slice(), needle));
            }
            scattered.extend(entry.scattered.as_deref().map(|bones| {
                let needle = Needle {
                    entry: at,
                    form: "scattered",
                    word: false,
                };
                (bones, needle)
            }));
        }
        let mut placeholders: Vec<String> = entries.iter().map(|e| e.placeholder.clone()).collect();
        let labels = entries.iter().map(|e| e.label.clone()).collect();
        let digits = entries.iter().map(|e| e.digits).collect();
        let masks = masks
            .iter()
            .map(|mask| {
                placeholders.push(mask.placeholder.clone());
                (placeholders.len() - 1, mask.pattern.clone())
            })
            .collect();
        let is_cuttable = |e: &&Entry| !e.user_name && e.digits == Digits::No;
        let cuttable = |(at, entry): (usize, &Entry)| {
            let forms = Some(entry)
                .filter(is_cuttable)
                .into_iter()
                .flat_map(|e| &e.forms);
            let forms = forms.filter(|f| f.remedy == Remedy::Redact && f.bytes.len() > BEGINNING);
            forms.map(|f| (at, f.bytes.clone())).collect::<Vec<_>>()
        };
        let cuttable = entries.iter().enumerate().flat_map(cuttable).collect();
        let own: Vec<&[u8]> = placeholders.iter().map(|p| p.as_bytes()).collect();
        let own = automaton(&own);
        Self {
            exact: Needles::new(exact),
            loose: Needles::new(loose),
            hidden: Needles::new(hidden),
            scattered: Needles::new(scattered),
            own,
            kept: None,
            user_names: entries.iter().map(|e| e.user_name).collect(),
            masks,
            cuttable,
            placeholders,
            labels,
            digits,
        }
    }

    /// User names inside these are not searched; any other value is.
    pub fn keep(&mut self, names: &[String]) {
        let names: Vec<&[u8]> = names.iter().map(|n| n.as_bytes()).collect();
        self.kept = automaton(&names);
    }

    /// Without what lies in a placeholder, and user names without what lies in a kept name.
    fn outside(&self, text: &str, found: Vec<Found>, own: &[Range<usize>]) -> Vec<Found> {
        let is_name = |found: &Found| self.user_names.get(found.entry) == Some(&true);
        let (names, mut values): (Vec<_>, Vec<_>) = cut(found, own).into_iter().partition(is_name);
        values.extend(cut(names, &places(&self.kept, text)));
        values
    }

    pub fn placeholder(&self, entry: usize) -> &str {
        &self.placeholders[entry]
    }

    pub fn label(&self, entry: usize) -> &str {
        self.labels.get(entry).map_or("mask", String::as_str)
    }

    /// Everything to replace in `text`: sorted, disjoint, at character borders, and never inside
    /// a placeholder that stands there already.
    pub fn find(&self, text: &str) -> Vec<Found> {
        let seamless = Seamless::of(text);
        let text = &*seamless.text;
        let (mut sure, doubtful) = self.candidates(text);
        sure.extend(self.cut_off(text));
        for (entry, pattern) in &self.masks {
            sure.extend(
                pattern
                    .find_iter(text)
                    .filter(|m| !m.is_empty())
                    .map(|m| Found {
                        range: m.range(),
                        entry: *entry,
                        form: "mask",
                    }),
            );
        }
        if sure.is_empty() && doubtful.is_empty() {
            return sure;
        }
        let own = places(&self.own, text);
        settle(&seamless, &mut sure, doubtful, &own);
        marked(&seamless, merge(self.outside(text, sure, &own)))
    }

    /// Beginnings of values whose rest was cut off.
    fn cut_off<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Found> + 'a {
        text.match_indices(CUT).filter_map(|(end, _)| {
            let before = &text.as_bytes()[..end];
            let of = |(entry, form): &(usize, Vec<u8>)| {
                let mut lengths = (BEGINNING..form.len()).rev();
                let length =
                    lengths.find(|n| before.ends_with(&form[..*n]) && tells(&form[..*n]))?;
                Some((length, *entry))
            };
            let (length, entry) = self.cuttable.iter().filter_map(of).max()?;
            let start = end - length;
            text.is_char_boundary(start).then_some(Found {
                range: start..end,
                entry,
                form: "beginning",
            })
        })
    }

    /// What counts as a leak: as [`Matcher::find`], for values only, each match on its own.
    pub fn find_values(&self, text: &str) -> Vec<Found> {
        let seamless = Seamless::of(text);
        let text = &*seamless.text;
        let (mut sure, doubtful) = self.candidates(text);
        if sure.is_empty() && doubtful.is_empty() {
            return sure;
        }
        let own = places(&self.own, text);
        settle(&seamless, &mut sure, doubtful, &own);
        sure.retain(|found| match self.digits[found.entry] {
            Digits::No => true,
            Digits::Long => !is_json_number(text, &found.range),
            Digits::Short => false,
        });
        marked(&seamless, self.outside(text, sure, &own))
    }

    /// Forms that are no text, in any bytes.
    pub fn find_hidden(&self, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        self.hidden.search(bytes, |range, needle| {
            if !needle.word || word_in_bytes(bytes, &range) {
                found.push(Found {
                    range,
                    entry: needle.entry,
                    form: needle.form,
                });
            }
        });
        found
    }

    /// Values of which only letters and digits are left, in order, between anything else.
    pub fn find_scattered(&self, text: &str) -> Vec<usize> {
        let mut entries = Vec::new();
        if self.scattered.automaton.is_some() {
            let mut bones = Vec::with_capacity(text.len());
            let mut at = 0;
            for own in places(&self.own, text) {
                skeleton(&text[at..own.start], &mut bones);
                // No text folds to this byte, so nothing matches across a placeholder.
                bones.push(0xff);
                at = own.end;
            }
            skeleton(&text[at..], &mut bones);
            self.scattered
                .search(&bones, |_, needle| entries.push(needle.entry));
        }
        entries.sort_unstable();
        entries.dedup();
        entries
    }

    /// Matches that count wherever they stand, and those that count only as whole words.
    fn candidates(&self, text: &str) -> (Vec<Found>, Vec<Found>) {
        let (mut sure, mut doubtful) = (Vec::new(), Vec::new());
        let mut sort = |range, needle: Needle| {
            let found = Found {
                range,
                entry: needle.entry,
                form: needle.form,
            };
            if needle.word {
                doubtful.push(found)
            } else {
                sure.push(found)
            }
        };
        self.exact.search(text.as_bytes(), &mut sort);
        if self.loose.is_in(|| fold::folded(text)) {
            let view = fold::view(text);
            self.loose.search(&view.folded, |range, needle| {
                let (start, end) = view.source(range.start, range.end);
                sort(start..end, needle);
            });
        }
        (sure, doubtful)
    }
}

fn places(of: &Option<AhoCorasick>, text: &str) -> Vec<Range<usize>> {
    of.iter()
        .flat_map(|automaton| automaton.find_iter(text))
        .map(|m| m.range())
        .collect()
}

/// Places in the text as it was given, seams and all.
fn marked(seamless: &Seamless, mut found: Vec<Found>) -> Vec<Found> {
    for one in &mut found {
        one.range = seamless.marked(&one.range);
    }
    found
}

/// Whether digits are the value of a JSON member. In a string the quote would be escaped.
fn is_json_number(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].trim_end();
    let key = before
        .strip_suffix(':')
        .map(str::trim_end)
        .unwrap_or_default();
    let quoted = key.ends_with('"') && !key.ends_with("\\\"");
    quoted && text[range.end..].trim_start().starts_with([',', '}'])
}
