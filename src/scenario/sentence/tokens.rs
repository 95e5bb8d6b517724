//! The words of a sentence; what stands in quotation marks is one token.

use super::SentenceError;
use crate::scenario::lexicon::Lexicon;
use crate::text::fold::fold_case;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Bytes of the sentence.
    pub start: usize,
    pub end: usize,
    /// Folded, without punctuation behind it; empty if quoted.
    pub word: String,
    /// What the quotation marks held, escapes replaced.
    pub quoted: Option<String>,
    /// A comma or semicolon stands behind it.
    pub comma: bool,
}

const MARKS: [(char, char); 6] = [
    ('"', '"'),
    ('“', '”'),
    ('«', '»'),
    ('„', '“'),
    ('‘', '’'),
    ('\'', '\''),
];

/// The sentence as a whole, from the first to the last of the tokens, without what only ends it.
pub fn slice<'t>(text: &'t str, tokens: &[Token]) -> &'t str {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => text[first.start..last.end].trim_end_matches([',', ';']),
        _ => "",
    }
}

/// Whether these words stand at the beginning.
pub fn begins(tokens: &[Token], words: &[String]) -> bool {
    !words.is_empty()
        && words.len() <= tokens.len()
        && words
            .iter()
            .zip(tokens)
            .all(|(w, t)| t.quoted.is_none() && t.word == *w)
}

pub fn split(text: &str, lexicon: &Lexicon) -> Result<Vec<Token>, SentenceError> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(c) = rest.chars().next() else { break };
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if let Some((inner, len)) = quoted(rest)? {
            tokens.push(Token {
                start: at,
                end: at + len,
                word: String::new(),
                quoted: Some(inner),
                comma: false,
            });
            at += len;
        } else if let Some(len) = elided(rest, lexicon) {
            tokens.push(word(text, at, at + len));
            at += len;
        } else {
            let len = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let raw = &rest[..len];
            match tokens.last_mut() {
                // Punctuation right behind a quotation mark belongs to nobody.
                Some(last)
                    if last.end == at
                        && last.quoted.is_some()
                        && raw.chars().all(|c| ",;:.!".contains(c)) =>
                {
                    last.comma |= raw.contains([',', ';']);
                }
                _ => tokens.push(word(text, at, at + len)),
            }
            at += len;
        }
    }
    end_of_sentence(text, &mut tokens);
    Ok(tokens)
}

fn word(text: &str, start: usize, end: usize) -> Token {
    let raw = &text[start..end];
    let word = fold_case(raw).replace('’', "'");
    Token {
        start,
        end,
        word: word.trim_end_matches([',', ';', ':']).to_string(),
        quoted: None,
        comma: raw.ends_with([',', ';']),
    }
}

/// A full stop or exclamation mark at the end is the sentence's, not the last word's.
fn end_of_sentence(text: &str, tokens: &mut [Token]) {
    if let Some(last) = tokens.last_mut()
        && last.quoted.is_none()
    {
        let raw = &text[last.start..last.end];
        let bare = raw.trim_end_matches(['.', '!']);
        if raw.len() - bare.len() == 1 && !bare.is_empty() {
            *last = word(text, last.start, last.start + bare.len());
        }
    }
}

/// Text in quotation marks at the start of `rest`, and how many bytes it takes.
fn quoted(rest: &str) -> Result<Option<(String, usize)>, SentenceError> {
    let Some(open) = rest.chars().next() else {
        return Ok(None);
    };
    let Some((_, close)) = MARKS.iter().find(|(o, _)| *o == open) else {
        return Ok(None);
    };
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((i, c)) = chars.next() {
        if c == '\\' {
            match chars.peek() {
                Some((_, n)) if *n == *close || *n == '\\' || *n == '"' => {
                    out.push(*n);
                    chars.next();
                }
                _ => out.push(c),
            }
        } else if c == *close && (!is_apostrophe(c) || ends_word(&rest[i + c.len_utf8()..])) {
            return Ok(Some((out, i + c.len_utf8())));
        } else {
            out.push(c);
        }
    }
    // A lone apostrophe is a letter of its word; any other mark was meant to be closed.
    if is_apostrophe(open) || open == '‘' {
        Ok(None)
    } else {
        Err(SentenceError::Unclosed)
    }
}

fn is_apostrophe(c: char) -> bool {
    c == '\'' || c == '’'
}

fn ends_word(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| !c.is_alphanumeric())
}

/// An elided word such as `l'` before its noun.
fn elided(rest: &str, lexicon: &Lexicon) -> Option<usize> {
    let mark = rest
        .find(['\'', '’'])
        .filter(|i| !rest[..*i].contains(char::is_whitespace))?;
    let end = mark + rest[mark..].chars().next()?.len_utf8();
    let word = fold_case(&rest[..end]).replace('’', "'");
    lexicon.elisions.contains(&word).then_some(end)
}
