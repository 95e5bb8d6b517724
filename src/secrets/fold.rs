//! The loose view of a text: what is left once everything a page can do to a value without
//! hiding it from a reader is undone: case, white space, invisible characters, combining marks,
//! percent codes, HTML entities, backslash escapes, terminal sequences. Every byte of the view
//! knows which bytes of the text it stands for, so a match can be cut out of the text itself.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

use super::escapes::read;

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
