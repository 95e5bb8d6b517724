//! Text that others wrote, made harmless before a sink shows it.
//!
//! Pages, models and drivers may put terminal controls, reordering marks or characters XML cannot
//! hold into any string. Sequences go as a whole (a bare `[31m` would litter the report), and
//! nothing here depends on a feature flag of some crate.

use std::borrow::Cow;

use crate::text::without_sequences;

/// For a terminal or a text file: no control but `\n`, no escape sequence, direction marks shown.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in strip(text).chars() {
        match c {
            '\u{200e}'
            | '\u{200f}'
            | '\u{061c}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => shown(c, &mut out),
            c => out.push(c),
        }
    }
    out
}

/// [`plain`] on one line: line ends and runs of space become one space.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in plain(text).split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// For XML and HTML: only characters XML 1.0 allows, no escape sequence, line ends as `\n`.
///
/// Marks that reorder what follows are shown, since they could make one name look like another;
/// the single marks that right-to-left text needs stay.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Names that run from right to left come isolated, which keeps the rest of the line as it is.
    let keep = isolates_itself(text);
    for c in strip(text).chars() {
        match c {
            '\u{2068}' | '\u{2069}' if keep => out.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown(c, &mut out),
            c => out.push(c),
        }
    }
    out
}

/// Every isolate that begins ends, and none ends that did not begin.
fn isolates_itself(text: &str) -> bool {
    let mut open = 0_usize;
    for c in text.chars() {
        match c {
            '\u{2066}'..='\u{2068}' => open += 1,
            '\u{2069}' if open == 0 => return false,
            '\u{2069}' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

fn shown(c: char, out: &mut String) {
    use std::fmt::Write;
    let _ = write!(out, "⟨U+{:04X}⟩", c as u32);
}

/// Drops escape sequences as a whole, other controls, and characters XML cannot hold.
fn strip(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\t' || unfit(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let text = without_sequences(text);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => out.push('\n'),
            // A lone carriage return ends a line too: it must not let later text overwrite earlier.
            '\r' => {
                if rest.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\t' => out.push_str("    "),
            c if unfit(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Controls and the non-characters; surrogates cannot occur in a `str`.
fn unfit(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fdd0}'..='\u{fdef}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// At most about `limit` bytes: the beginning, a mark that says how much is gone, the end.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let head = boundary(text, limit * 2 / 3);
    let tail = boundary(text, text.len() - limit / 3);
    Cow::Owned(format!(
        "{}\n[… {} bytes cut …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    ))
}

/// The last character border at or before a byte.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// One line of at most `limit` characters, with an ellipsis where it was cut.
pub fn short(text: &str, limit: usize) -> String {
    cut_line(&line(text), limit)
}

/// At most `limit` characters of a line that is clean already.
pub fn cut_line(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit.saturating_sub(1)) {
        Some((at, c)) if at + c.len_utf8() < text.len() => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}

/// A line of output that no CI runner takes for a command: GitHub reads `::…` at the start of a
/// line and `##[…`, Azure `##vso[…`, TeamCity `##teamcity[…` anywhere.
pub fn no_command(line: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(line);
    let start = line.len() - line.trim_start().len();
    if line[start..].starts_with("::") {
        out.to_mut().insert(start + 1, ' ');
    }
    let mut from = 0;
    while let Some(at) = out[from..].find("##") {
        from += at + 2;
        let rest = out[from..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        if rest.starts_with('[') {
            out.to_mut().insert(from - 1, ' ');
        } else {
            // `###[` holds the mark too.
            from -= 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_runs_from_right_to_left_stays_isolated_and_nothing_else_does() {
        let named = "no button \"\u{2068}יום 50\u{2069}\" here";
        assert_eq!(markup(named), named);
        assert_eq!(markup("a\u{2068}b"), "a⟨U+2068⟩b");
        assert_eq!(markup("a\u{2069}b\u{2068}"), "a⟨U+2069⟩b⟨U+2068⟩");
        assert_eq!(markup("a\u{202e}b"), "a⟨U+202E⟩b");
    }

    #[test]
    fn case_099_sequences_go_as_a_whole() {
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m"), "red");
        assert_eq!(plain("\u{9b}1;31mred\u{9b}m"), "red");
        assert_eq!(plain("a\u{1b}]0;title\u{7}b"), "ab");
        assert_eq!(plain("a\u{1b}]8;;http://x\u{1b}\\b"), "ab");
        assert_eq!(plain("a\u{1b}(Bb\u{1b}cc"), "abc");
        assert_eq!(plain("cut at the end\u{1b}[3"), "cut at the end");
        assert_eq!(plain("open\u{1b}]0;never closed\nnext"), "open\nnext");
    }

    #[test]
    fn controls_and_non_characters_go_and_line_ends_agree() {
        assert_eq!(
            plain("a\u{0}\u{8}b\u{7f}\u{80}c\u{fffe}\u{ffff}\u{1ffff}"),
            "abc"
        );
        assert_eq!(
            plain("one\r\ntwo\rthree\u{2028}four"),
            "one\ntwo\nthree\nfour"
        );
        assert_eq!(markup("tab\there"), "tab    here");
    }

    #[test]
    fn a_page_gives_no_command_to_the_ci_runner() {
        assert_eq!(no_command("  ::add-mask::x"), "  : :add-mask::x");
        assert_eq!(no_command("a ##[error]x"), "a # #[error]x");
        assert_eq!(
            no_command("##vso[task.x]y ##teamcity[z"),
            "# #vso[task.x]y # #teamcity[z"
        );
        assert_eq!(no_command("###[x"), "## #[x");
        assert_eq!(no_command("## goal, a::b"), "## goal, a::b");
    }

    #[test]
    fn marks_that_reorder_are_shown() {
        assert_eq!(plain("x\u{202e}fdp.exe"), "x⟨U+202E⟩fdp.exe");
        assert_eq!(markup("x\u{2066}y"), "x⟨U+2066⟩y");
        assert_eq!(markup("שלום\u{200f}"), "שלום\u{200f}");
    }

    #[test]
    fn cutting_keeps_both_ends_and_whole_characters() {
        let text = "漢".repeat(1000);
        let cut = cut(&text, 300);
        assert!(cut.len() < 360);
        assert!(cut.starts_with('漢') && cut.ends_with('漢'));
        assert!(cut.contains("bytes cut"));
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(short("abcd", 4), "abcd");
        assert_eq!(short("a\nb", 9), "a b");
    }
}
