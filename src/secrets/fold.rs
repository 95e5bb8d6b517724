//! The loose view of a text: what is left once everything a page can do to a value without
//! hiding it from a reader is undone: case, white space, invisible characters, combining marks,
//! percent codes, HTML entities, backslash escapes, terminal sequences. Every byte of the view
//! knows which bytes of the text it stands for, so a match can be cut out of the text itself.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Folded bytes and, for each, the start and end of its piece of the text.
#[derive(Default)]
pub struct View {
    pub folded: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl View {
    /// The bytes of the text a range of the view stands for.
    pub fn source(&self, start: usize, end: usize) -> (usize, usize) {
        (self.places[start].0, self.places[end - 1].1)
    }
}

/// What the fold writes to: most texts hold no value, and then places would be kept for nothing.
trait Out {
    /// Plain ASCII, one byte for one.
    fn run(&mut self, bytes: &[u8], start: usize);
    /// A character that stands for the text from `start` to `end`.
    fn char(&mut self, c: char, start: usize, end: usize);
}

impl Out for Vec<u8> {
    fn run(&mut self, bytes: &[u8], _: usize) {
        let at = self.len();
        self.extend_from_slice(bytes);
        self[at..].make_ascii_lowercase();
    }
    fn char(&mut self, c: char, _: usize, _: usize) {
        self.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

impl Out for View {
    fn run(&mut self, bytes: &[u8], start: usize) {
        self.folded.run(bytes, start);
        self.places
            .extend((start..start + bytes.len()).map(|at| (at, at + 1)));
    }
    fn char(&mut self, c: char, start: usize, end: usize) {
        self.folded.char(c, start, end);
        self.places.resize(self.folded.len(), (start, end));
    }
}

/// The loose view of `text`.
pub fn view(text: &str) -> View {
    let mut view = View::default();
    fold(text, &mut view);
    view
}

/// The bytes of the loose view alone, which takes a fraction of the time.
pub fn folded(text: &str) -> Vec<u8> {
    let mut folded = Vec::with_capacity(text.len());
    fold(text, &mut folded);
    folded
}

fn fold(text: &str, out: &mut impl Out) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let plain = bytes[at..].iter().take_while(|b| is_plain(**b)).count();
        if plain > 0 {
            out.run(&bytes[at..at + plain], at);
            at += plain;
            continue;
        }
        let (found, length) = match bytes[at] {
            b' ' | b'\n' => (None, 1),
            _ => read(text, at),
        };
        if let Some(found) = found {
            fold_char(found, &mut |c| out.char(c, at, at + length));
        }
        at += length;
    }
}

/// ASCII that is no space and begins no escape.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'%' | b'&' | b'\\')
}

/// The folded form of a value taken as it is, without undoing escapes.
pub fn fold_plain(value: &str) -> Vec<u8> {
    let mut out = String::new();
    for c in value.chars() {
        fold_char(c, &mut |c| out.push(c));
    }
    out.into_bytes()
}

fn fold_char(c: char, push: &mut dyn FnMut(char)) {
    if c.is_ascii() {
        if !c.is_ascii_whitespace() && !c.is_ascii_control() {
            push(c.to_ascii_lowercase());
        }
        return;
    }
    decompose_compatible(c, |part| {
        if !invisible(part) {
            part.to_lowercase()
                .filter(|c| !invisible(*c))
                .for_each(&mut *push);
        }
    });
}

/// White space, controls, marks and the characters that take no room on the screen.
pub fn invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || is_combining_mark(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// The character written at `at`, escapes undone, and how many bytes it takes.
/// `None` for something that stands for no character (a terminal sequence).
fn read(text: &str, at: usize) -> (Option<char>, usize) {
    let rest = &text.as_bytes()[at..];
    let escaped = match rest[0] {
        b'%' => percent(rest),
        b'&' => entity(rest),
        b'\\' => backslash(rest),
        0x1b => terminal(rest).map(|n| (None, n)),
        _ => None,
    };
    escaped.unwrap_or_else(|| {
        let c = text[at..].chars().next().unwrap_or('\0');
        (Some(c), c.len_utf8())
    })
}

type Read = Option<(Option<char>, usize)>;

fn hex(bytes: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(bytes).ok()?;
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

fn percent(rest: &[u8]) -> Read {
    if matches!(rest.get(1), Some(b'u' | b'U')) {
        return utf16(rest);
    }
    let byte = |n: usize| {
        let piece = rest.get(n * 3..n * 3 + 3)?;
        (piece[0] == b'%')
            .then(|| hex(&piece[1..]))?
            .map(|b| b as u8)
    };
    let first = byte(0)?;
    let length = match first {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return None,
    };
    // A percent sign that was itself escaped: `%2541`.
    if first == b'%'
        && let Some(twice) = rest.get(3..5).and_then(hex)
        && twice < 0x80
    {
        return Some((char::from_u32(twice), 5));
    }
    let mut buffer = [0; 4];
    for (n, slot) in buffer.iter_mut().enumerate().take(length) {
        *slot = byte(n)?;
    }
    let c = std::str::from_utf8(&buffer[..length])
        .ok()?
        .chars()
        .next()?;
    Some((Some(c), length * 3))
}

fn entity(rest: &[u8]) -> Read {
    if rest.get(1) == Some(&b'#') {
        return numeric(rest);
    }
    let end = rest.iter().take(14).position(|b| *b == b';')?;
    let name = std::str::from_utf8(&rest[1..end]).ok()?;
    Some((Some(named(name)?), end + 1))
}

/// `&#104;` or `&#x68;`; browsers do without the semicolon.
fn numeric(rest: &[u8]) -> Read {
    let hex = matches!(rest.get(2), Some(b'x' | b'X'));
    let (start, radix) = if hex { (3, 16) } else { (2, 10) };
    let digits = rest[start.min(rest.len())..]
        .iter()
        .take(12)
        .take_while(|b| char::from(**b).is_digit(radix))
        .count();
    let text = std::str::from_utf8(&rest[start.min(rest.len())..][..digits]).ok()?;
    let c = char::from_u32(u32::from_str_radix(text, radix).ok()?)?;
    let end = start + digits;
    let closed = rest.get(end) == Some(&b';');
    Some((Some(c), end + usize::from(closed)))
}

fn named(name: &str) -> Option<char> {
    Some(match name {
        "amp" | "AMP" => '&',
        "lt" | "LT" => '<',
        "gt" | "GT" => '>',
        "quot" | "QUOT" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "shy" => '\u{ad}',
        "zwj" => '\u{200d}',
        "zwnj" => '\u{200c}',
        "Tab" => '\t',
        "NewLine" => '\n',
        "excl" => '!',
        "num" => '#',
        "dollar" => '$',
        "percnt" => '%',
        "lpar" => '(',
        "rpar" => ')',
        "ast" => '*',
        "plus" => '+',
        "comma" => ',',
        "period" => '.',
        "sol" => '/',
        "colon" => ':',
        "semi" => ';',
        "equals" => '=',
        "quest" => '?',
        "commat" => '@',
        "lsqb" => '[',
        "rsqb" => ']',
        "bsol" => '\\',
        "Hat" => '^',
        "lowbar" => '_',
        "grave" => '`',
        "lcub" => '{',
        "rcub" => '}',
        "vert" => '|',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "szlig" => 'ß',
        _ => return None,
    })
}

/// `\uXXXX` or `%uXXXX`, two of them for a character beyond the basic plane.
fn utf16(rest: &[u8]) -> Read {
    let unit = hex(rest.get(2..6)?)?;
    if !(0xd800..0xdc00).contains(&unit) {
        return Some((char::from_u32(unit), 6));
    }
    let low = rest
        .get(6..12)
        .filter(|next| next[..2] == rest[..2])
        .and_then(|next| hex(&next[2..]))
        .filter(|low| (0xdc00..0xe000).contains(low))?;
    let c = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    Some((char::from_u32(c), 12))
}

fn backslash(rest: &[u8]) -> Read {
    match rest.get(1)? {
        b'u' if rest.get(2) == Some(&b'{') => {
            let end = rest.iter().take(10).position(|b| *b == b'}')?;
            Some((char::from_u32(hex(rest.get(3..end)?)?), end + 1))
        }
        b'u' => utf16(rest),
        b'x' => Some((char::from_u32(hex(rest.get(2..4)?)?), 4)),
        b'n' | b'r' | b't' => Some((Some(' '), 2)),
        b'/' => Some((Some('/'), 2)),
        b'"' => Some((Some('"'), 2)),
        b'\'' => Some((Some('\''), 2)),
        b'\\' => Some((Some('\\'), 2)),
        _ => None,
    }
}

/// Length of an ANSI control sequence.
fn terminal(rest: &[u8]) -> Option<usize> {
    if rest.get(1) != Some(&b'[') {
        return None;
    }
    let end = rest[2..]
        .iter()
        .take(32)
        .position(|b| (0x40..=0x7e).contains(b))?;
    Some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let view = view(text);
        assert_eq!(view.folded, super::folded(text), "both ways agree");
        assert_eq!(view.folded.len(), view.places.len());
        String::from_utf8(view.folded).expect("folding yields text")
    }

    #[test]
    fn the_loose_view_undoes_what_a_page_can_do() {
        for text in [
            "Hunter/2é",
            "h u n\nt\te r / 2 e\u{301}",
            "hu\u{200b}nter\u{ad}/2é",
            "HUNTER%2F2%C3%A9",
            "hunter%252f2é",
            "&#104;unter&sol;2&eacute;",
            "&#104&#117nter&#x2f;2&#000233;",
            "\\u0068unter\\/2\\u00e9",
            "\u{1b}[31mhunt\u{1b}[0mer/2é",
            "ｈｕｎｔｅｒ/2é",
        ] {
            assert_eq!(folded(text), "hunter/2e", "{text:?}");
        }
    }

    #[test]
    fn a_match_maps_back_to_the_bytes_of_the_text() {
        let text = "x h%C3%A9 y";
        let view = view(text);
        assert_eq!(view.folded, b"xhey");
        let (start, end) = view.source(1, 3);
        assert_eq!(&text[start..end], "h%C3%A9");
    }

    #[test]
    fn unfinished_escapes_are_read_as_they_stand() {
        for text in [
            "%", "%4", "&", "&#", "\\", "\\u12", "\u{1b}[", "%ff%fe", "&#xd800;",
        ] {
            let _ = view(text);
        }
        assert_eq!(folded("50% off & more"), "50%off&more");
    }
}
