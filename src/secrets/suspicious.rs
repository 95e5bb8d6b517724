//! Strings that look like keys, for files that are committed: nobody registered them, so they
//! can be known by their shape only. A finding names place and kind, never the string.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Suspicion {
    /// From 1.
    pub line: usize,
    pub column: usize,
    pub kind: &'static str,
}

struct Rule {
    kind: &'static str,
    pattern: Regex,
}

const WRITTEN: &str = "written value";

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    [
        ("private key (PEM)", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
        ("age identity", r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}"),
        ("token (JWT)", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        ("AWS access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
        ("live key", r"\b[a-z]{2,4}_live_[A-Za-z0-9]{8,}"),
        ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
        ("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
        ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("Google key", r"\bAIza[A-Za-z0-9_-]{35}"),
        ("model key", r"\bsk-[A-Za-z0-9_-]{20,}"),
        ("TOTP seed", r"\botpauth://[a-z]+/\S*[?&]secret=[A-Za-z2-7]{8,}"),
        ("password in an address", r"\b[a-z][a-z0-9+.-]*://[^\s/:@$‹]+:[^\s/@$‹]{3,}@[A-Za-z0-9]"),
        ("bearer token", r"(?i)\bauthorization:\s*(?:bearer|basic)\s+[A-Za-z0-9+/=_.~-]{16,}"),
        (
            WRITTEN,
            r#"(?i)\b(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?token)\b["']?\s*[:=]\s*["']?([^\s"'$‹<>{}\[\](),]{6,})"#,
        ),
    ]
    .into_iter()
    .map(|(kind, pattern)| Rule {
        kind,
        pattern: Regex::new(pattern).expect("rules are tested"),
    })
    .collect()
});

/// Places in `text` that look like a key, one per line and rule.
pub fn suspicious(text: &str) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for rule in RULES.iter() {
            let places = rule.pattern.captures_iter(line);
            let place = places
                .map(|c| (c.get_match(), c.get(1)))
                .find(|(_, value)| {
                    rule.kind != WRITTEN || value.is_some_and(|value| no_plain_word(value.as_str()))
                });
            if let Some((place, _)) = place {
                found.push(Suspicion {
                    line: number + 1,
                    column: line[..place.start()].chars().count() + 1,
                    kind: rule.kind,
                });
            }
        }
    }
    found
}

/// As [`suspicious`], for every text file below `root`; links are not followed.
pub fn suspicious_tree(root: &Path) -> Vec<(PathBuf, Suspicion)> {
    let mut found = Vec::new();
    let mut paths = vec![root.to_owned()];
    while let Some(path) = paths.pop() {
        let Ok(facts) = path.symlink_metadata() else {
            continue;
        };
        if facts.is_dir() {
            let below = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<_> = below.map(|entry| entry.path()).collect();
            below.sort_by(|a, b| b.cmp(a));
            paths.extend(below);
        } else if facts.is_file()
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            found.extend(suspicious(&text).into_iter().map(|s| (path.clone(), s)));
        }
    }
    found
}

/// `hunter22` rather than `required`.
fn no_plain_word(value: &str) -> bool {
    value.chars().any(char::is_alphabetic)
        && value
            .chars()
            .any(|c| c.is_ascii_digit() || "!@#%^&*+".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_077_key_like_strings_are_pointed_out_without_being_quoted() {
        let long = "a1B2".repeat(10);
        for (kind, text) in [
            ("live key", format!("key hk_live_{}", &long[..12])),
            ("AWS access key", "AKIAABCDEFGHIJKLMNOP".to_owned()),
            (
                "private key (PEM)",
                "-----BEGIN RSA PRIVATE KEY-----".into(),
            ),
            ("token (JWT)", format!("eyJ{0}.eyJ{0}.{0}", &long[..12])),
            ("GitHub token", format!("ghp_{long}")),
            (
                "password in an address",
                "https://bob:hunter2@code.test/".into(),
            ),
            ("written value", "  password: hunter22".into()),
            ("model key", format!("sk-{long}")),
            (
                "TOTP seed",
                "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ".into(),
            ),
        ] {
            let found = suspicious(&format!("first line\n{text}\n"));
            assert!(
                found.iter().any(|s| s.kind == kind && s.line == 2),
                "{kind}: {found:?}"
            );
        }
    }

    #[test]
    fn a_tree_is_searched_file_by_file() {
        let dir = tempfile::tempdir().expect("folder");
        std::fs::create_dir(dir.path().join("sub")).expect("folder");
        std::fs::write(dir.path().join("sub/a.yaml"), "x\npassword: hunter22").expect("file");
        std::fs::write(dir.path().join("b.png"), b"\x89PNG password: hunter22").expect("file");
        let found = suspicious_tree(dir.path());
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].0.clone(), found[0].1.line),
            (dir.path().join("sub/a.yaml"), 2)
        );
    }

    #[test]
    fn scenarios_as_people_write_them_are_not_suspicious() {
        for text in [
            "credentials: [code-host-user]\nfill: Password\ncredential: code-host-user.password",
            "login: code-host-user  # password: from the vault",
            "see: Your password: must have 8 characters",
            "password: $(code-host-user.password)",
            "password: ‹code-host-user.password›",
            "goto: https://code.test:8080/a@b",
        ] {
            assert_eq!(suspicious(text), [], "{text}");
        }
    }
}
