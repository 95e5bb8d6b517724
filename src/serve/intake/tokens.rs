//! A text as words with their places, and what a word can be: a label, a site, a value.

use crate::text::fold::fold_case;

use super::Words;

/// One word with its place and its folded form. Words in quotation marks are one.
pub struct Token<'a> {
    pub text: &'a str,
    pub folded: String,
    pub start: usize,
    /// A mark stands after it: `user:`
    pub labels: bool,
    /// Nothing more on its line.
    pub last_on_line: bool,
}

impl Token<'_> {
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub fn ends_sentence(&self) -> bool {
        self.last_on_line || self.text.ends_with(['.', ';', '!', '?'])
    }

    pub fn ends_clause(&self) -> bool {
        self.ends_sentence() || self.text.ends_with([',', ')', ']'])
    }

    /// The word itself, without quotation marks, brackets, or the stop that ends its sentence: a
    /// value that ends in one itself is written in quotation marks.
    pub fn value(&self) -> &str {
        let mut text = self.text.trim_end_matches([',', ';', '.']);
        if self.quoted() {
            let skip = text.chars().next().map_or(0, char::len_utf8);
            let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
            return &text[skip..last];
        }
        for (open, close) in [('(', ')'), ('[', ']'), ('<', '>')] {
            if text.matches(open).count() < text.matches(close).count() {
                text = text.strip_suffix(close).unwrap_or(text);
            }
        }
        text.trim_end_matches([',', ';', '.'])
    }

    pub fn quoted(&self) -> bool {
        let text = self.text.trim_end_matches([',', ';', '.']);
        let mut chars = text.chars();
        let (Some(first), Some(last)) = (chars.next(), chars.next_back()) else {
            return false;
        };
        closing(first) == Some(last)
    }

    /// A quotation mark that nothing closes: where the value ends can't be told.
    pub fn unclosed(&self) -> bool {
        !self.quoted()
            && self
                .text
                .chars()
                .next()
                .is_some_and(|c| closing(c).is_some())
    }

    /// Two halves joined by one of the marks: `bob7/…`.
    pub fn halves(&self, marks: &[char]) -> Option<(&str, &str)> {
        let (left, right) = self.value().split_once(marks)?;
        (!left.is_empty() && !right.is_empty() && !right.starts_with('/')).then_some((left, right))
    }
}

fn closing(open: char) -> Option<char> {
    match open {
        '"' | '\'' | '`' => Some(open),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// Words, with `user:x` as label and value and `user/password` as two labels.
pub fn split<'a>(text: &'a str, words: &Words) -> Vec<Token<'a>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while let Some(skip) = text[at..].find(|c: char| !c.is_whitespace()) {
        if text[at..at + skip].contains('\n')
            && let Some(last) = tokens.last_mut()
        {
            last.last_on_line = true;
        }
        at += skip;
        let word = word_at(&text[at..]);
        if matches!(word, ":" | "=")
            && let Some(last) = tokens.last_mut()
        {
            last.labels = true;
        } else if let Some(label) = label_end(word) {
            push(&mut tokens, at, &word[..label], true, words);
            at += label + 1;
            continue;
        } else {
            push(&mut tokens, at, word, false, words);
        }
        at += word.len();
    }
    if let Some(last) = tokens.last_mut() {
        last.last_on_line = true;
    }
    tokens
}

/// To the next blank, or to the closing quotation mark of its line.
fn word_at(rest: &str) -> &str {
    let blank = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
    let end = blank(rest);
    let first = rest.chars().next().unwrap_or(' ');
    let Some(close) = closing(first) else {
        return &rest[..end];
    };
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let inside = first.len_utf8();
    match line[inside..].find(close) {
        Some(found) => {
            let after = inside + found + close.len_utf8();
            &rest[..after + blank(&rest[after..])]
        }
        None => &rest[..end],
    }
}

fn push<'a>(tokens: &mut Vec<Token<'a>>, start: usize, text: &'a str, labels: bool, words: &Words) {
    let mut one = |start: usize, text: &'a str, labels: bool| {
        if !text.is_empty() {
            tokens.push(Token {
                text,
                folded: folded(text),
                start,
                labels: labels || text.ends_with([':', '=']),
                last_on_line: false,
            });
        }
    };
    let parts: Vec<&str> = text.split(['/', '&', '+']).collect();
    if parts.len() == 2 && parts.iter().all(|part| words.labels(&folded(part))) {
        one(start, parts[0], false);
        one(start + parts[0].len() + 1, parts[1], labels);
    } else if let Some(at) = elided(text, words) {
        one(start, &text[..at], false);
        one(start + at, &text[at..], labels);
    } else {
        one(start, text, labels);
    }
}

/// Where the label of `l'utente` begins.
fn elided(text: &str, words: &Words) -> Option<usize> {
    let (at, mark) = text.char_indices().find(|(_, c)| matches!(c, '\'' | '’'))?;
    let label = at + mark.len_utf8();
    (at > 0 && words.labels(&folded(&text[label..]))).then_some(label)
}

/// Without case and without what stands around a word. A dash alone stays one.
pub fn folded(text: &str) -> String {
    let bare = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let bare = bare.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
    fold_case(if bare.is_empty() { text } else { bare }).replace('’', "'")
}

/// The end of a label glued to its value or its colon; an address has none.
fn label_end(word: &str) -> Option<usize> {
    let end = word.find([':', '='])?;
    let label = word[..end].trim_matches(|c: char| !c.is_alphanumeric());
    let plain = !label.is_empty()
        && label
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '/' | '&' | '+'));
    (plain && !word[end..].starts_with("://")).then_some(end)
}

/// A host name or an address.
pub fn site(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| ",;:\"'`“”«»()[]<>*_".contains(c));
    let word = word.trim_end_matches(['.', '!', '?']);
    if word.starts_with("http://") || word.starts_with("https://") {
        return url::Url::parse(word).ok().map(|_| word.to_owned());
    }
    let (host, port) = word.split_once(':').unwrap_or((word, ""));
    let (_, ending) = host.rsplit_once('.')?;
    let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let good = host.chars().all(fits)
        && ending.len() >= 2
        && ending.chars().all(char::is_alphabetic)
        && port.chars().all(|c| c.is_ascii_digit())
        && !host.starts_with('.');
    good.then(|| word.to_owned())
}

/// Hardly a word of a language: letters with digits, signs within, many digits, many parts.
pub fn strong(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    if site(word).is_some() || word.contains("://") || email(word) {
        return false;
    }
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let odd = |c: char| !c.is_alphanumeric() && !"-'’.,/&".contains(c);
    let loud = letters >= 16 && word.chars().all(|c| c.is_uppercase());
    (digits > 0 && letters > 0)
        || digits >= 6
        || word.contains(odd)
        || word.matches('-').count() >= 2
        || loud
}

fn email(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && site(host).is_some())
}
