//! File names made of text that a page or a person wrote.

use std::collections::HashSet;

use super::frames::short_hash;

/// Fits every common file system with room for endings.
const LONGEST: usize = 80;

/// One file or folder name from any text: letters, digits, `.`, `-` and `_` of ASCII, no leading
/// dot, not a device's name, never empty. Text that had to be changed beyond case or spaces gets
/// a piece of its hash, so that different texts keep different names.
pub fn safe_name(text: &str) -> String {
    let (stem, ending) = split_ending(text);
    let mut name = String::new();
    let mut lost = false;
    for c in stem.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => name.push(c),
            '-' if !name.is_empty() => name.push('-'),
            '.' if !name.is_empty() && !name.ends_with('.') => name.push('.'),
            ' ' if !name.is_empty() => name.push('-'),
            _ => {
                lost = true;
                if !name.is_empty() && !name.ends_with('-') {
                    name.push('-');
                }
            }
        }
        if name.len() >= LONGEST {
            lost = true;
            break;
        }
    }
    let stem = name.trim_end_matches(['-', '.']);
    if !lost && !stem.is_empty() && !is_device(stem) {
        return format!("{stem}{ending}");
    }
    let hash = &short_hash(text.as_bytes())[..8];
    let between = if stem.is_empty() { "" } else { "-" };
    format!("{stem}{between}{hash}{ending}")
}

/// The ending says how to open a file, so it survives whatever happens to the rest.
fn split_ending(text: &str) -> (&str, String) {
    match text.rsplit_once('.') {
        Some((stem, ending))
            if !stem.is_empty()
                && (1..=8).contains(&ending.len())
                && ending.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            (stem, format!(".{ending}"))
        }
        _ => (text, String::new()),
    }
}

/// Names Windows gives to devices, with any ending.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let stem = stem.to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CLOCK$")
        || numbered("COM")
        || numbered("LPT")
}

/// Names already given in one folder.
#[derive(Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// A safe name no other text has been given here, also where case does not count.
    pub fn unique(&mut self, text: &str) -> String {
        let name = safe_name(text);
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending)) => (stem, format!(".{ending}")),
            None => (name.as_str(), String::new()),
        };
        let mut candidate = name.clone();
        let mut count = 1;
        while !self.0.insert(candidate.to_ascii_lowercase()) {
            count += 1;
            candidate = format!("{stem}-{count}{ending}");
        }
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f47_hostile_names_become_harmless_ones() {
        for text in [
            "../../x",
            "..",
            ".",
            "",
            "/etc/passwd",
            "CON",
            "con.txt",
            "COM1",
            "lpt9.log",
            "🙂",
            "a\0b",
            "x\u{202e}gpj.exe",
            ".bashrc",
            "-rf",
            "a/b\\c:d",
            "ends. ",
            "\u{1b}[31mred",
        ] {
            let name = safe_name(text);
            assert!(
                !name.is_empty() && name.len() <= LONGEST + 20,
                "{text:?} {name}"
            );
            assert!(
                !name.starts_with('.') && !name.ends_with('.'),
                "{text:?} {name}"
            );
            assert!(!is_device(&name), "{text:?} {name}");
            let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            assert!(
                name.bytes().all(fits) && !name.contains(".."),
                "{text:?} {name}"
            );
        }
    }

    #[test]
    fn plain_names_stay_and_changed_ones_stay_apart() {
        assert_eq!(safe_name("report-1.pdf"), "report-1.pdf");
        assert_eq!(safe_name("My report"), "My-report");
        assert_ne!(safe_name("日本"), safe_name("漢字"));
        assert!(safe_name(&"long".repeat(99)).len() <= LONGEST + 20);
        assert!(safe_name("é.pdf").ends_with(".pdf"));
    }

    #[test]
    fn the_same_text_twice_gives_two_names() {
        let mut names = Names::default();
        assert_eq!(names.unique("a.pdf"), "a.pdf");
        assert_eq!(names.unique("A.pdf"), "A-2.pdf");
        assert_eq!(names.unique("a.pdf"), "a-3.pdf");
    }
}
