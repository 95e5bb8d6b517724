//! Targets as text: `Sign in`, `button "Sign in"`, `text "Free plan"`.
//!
//! A name is literal: never a pattern, never split. Only a word before a quoted name is a role,
//! and it must be one.

use std::fmt;

use super::model::{By, Target};
use super::roles::{ROLES, role};
use crate::text::{Span, nearest, visible};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("a target needs a name")]
    Empty,
    #[error("`{word}` is no role{}", did_you_mean(.nearest))]
    UnknownRole {
        word: String,
        nearest: Option<String>,
    },
    #[error("the quotation mark of the name is not closed")]
    Unclosed,
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map(|n| format!(", did you mean `{n}`?"))
        .unwrap_or_default()
}

impl TargetError {
    /// How to mend it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Empty => {
                "write the name of the control, e.g. `Sign in`, or role and name: button \"Sign in\""
            }
            Self::UnknownRole { .. } => {
                "before a quoted name stands an ARIA role such as button, link, textbox, row, dialog; a name that holds quotation marks itself is written { name: 'Say \"hello\"' }"
            }
            Self::Unclosed => "write it as button \"Sign in\"; a quotation mark inside is \\\"",
        }
    }
}

/// The target a text means. The span of the result is the caller's to set.
pub fn parse_target(text: &str) -> Result<Target, TargetError> {
    Ok(Target {
        by: parse_by(text)?,
        span: Span::default(),
    })
}

pub fn parse_by(text: &str) -> Result<By, TargetError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(TargetError::Empty);
    }
    if let Some(rest) = text.strip_prefix('"') {
        let name = quoted(rest).ok_or(TargetError::Unclosed)?;
        return named(None, name);
    }
    let (word, rest) = match text.split_once([' ', '\t']) {
        Some((word, rest)) if rest.trim_start().starts_with('"') && is_word(word) => {
            (word, rest.trim_start())
        }
        _ => {
            return Ok(By::Name {
                role: None,
                name: Some(text.to_string()),
                exact: false,
            });
        }
    };
    match quoted(&rest[1..]) {
        Some(name) if word.eq_ignore_ascii_case("text") => {
            if name.is_empty() {
                Err(TargetError::Empty)
            } else {
                Ok(By::Text(name))
            }
        }
        Some(name) => match role(word) {
            Some(role) => named(Some(role.to_string()), name),
            None => Err(unknown_role(word)),
        },
        None if role(word).is_some() => Err(TargetError::Unclosed),
        // A quotation mark in the middle of a plain name, such as `Say "hello" twice`.
        None => Ok(By::Name {
            role: None,
            name: Some(text.to_string()),
            exact: false,
        }),
    }
}

pub fn unknown_role(word: &str) -> TargetError {
    TargetError::UnknownRole {
        word: visible(word),
        nearest: nearest(word, ROLES.iter().copied()).map(str::to_string),
    }
}

fn named(role: Option<String>, name: String) -> Result<By, TargetError> {
    if name.trim().is_empty() {
        return Err(TargetError::Empty);
    }
    Ok(By::Name {
        role,
        name: Some(name),
        exact: false,
    })
}

fn is_word(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_ascii_alphabetic() || c == '-' || c == '_')
}

/// The text up to the closing mark, which must be the last character; `\"` and `\\` are escapes.
fn quoted(rest: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                c @ ('"' | '\\') => out.push(c),
                c => {
                    out.push('\\');
                    out.push(c);
                }
            },
            '"' => return chars.as_str().is_empty().then_some(out),
            c => out.push(c),
        }
    }
    None
}

/// The name in quotation marks, escaped as [`quoted`] reads it.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The target in the language's own syntax; a form that has no one-text spelling is a flow map.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.by.fmt(f)
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(&text),
            None => f.write_str(&super::written::flow(&super::written::by_map(self))),
        }
    }
}

impl By {
    /// The one-text spelling, where there is one.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Name {
                role: None,
                name: Some(name),
                exact: false,
            } => Some(match parse_by(name) {
                Ok(ref by) if by == self => name.clone(),
                _ => quote(name),
            }),
            Self::Name {
                role: Some(role),
                name: Some(name),
                exact: false,
            } => Some(format!("{role} {}", quote(name))),
            Self::Text(text) => Some(format!("text {}", quote(text))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(role: Option<&str>, name: &str) -> By {
        By::Name {
            role: role.map(Into::into),
            name: Some(name.into()),
            exact: false,
        }
    }

    #[test]
    fn plain_names_and_roles_are_read() {
        for (text, by) in [
            ("Sign in", name(None, "Sign in")),
            ("button \"Sign in\"", name(Some("button"), "Sign in")),
            ("Button  \"Sign in\"", name(Some("button"), "Sign in")),
            ("row \"Order 7\"", name(Some("row"), "Order 7")),
            ("image \"Map\"", name(Some("img"), "Map")),
            ("button", name(None, "button")),
            (
                "button \"Say \\\"hi\\\"\"",
                name(Some("button"), "Say \"hi\""),
            ),
            ("\"button\"", name(None, "button")),
            ("5\" pipe", name(None, "5\" pipe")),
            ("Say \"hi\" twice", name(None, "Say \"hi\" twice")),
            ("text \"Free plan\"", By::Text("Free plan".into())),
        ] {
            assert_eq!(parse_by(text), Ok(by), "{text}");
        }
    }

    #[test]
    fn case_140_names_are_literal() {
        for text in [
            "Total ($)",
            "[0]",
            "+33 (0) France [beta]",
            "a.b",
            "*",
            "/x/",
        ] {
            assert_eq!(parse_by(text), Ok(name(None, text)));
        }
    }

    #[test]
    fn an_unknown_role_names_the_nearest() {
        let error = parse_by("buton \"Sign in\"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`buton` is no role, did you mean `button`?"
        );
        assert_eq!(parse_by("").unwrap_err(), TargetError::Empty);
        assert_eq!(parse_by("link \"\"").unwrap_err(), TargetError::Empty);
        assert_eq!(
            parse_by("link \"Sign in").unwrap_err(),
            TargetError::Unclosed
        );
    }
}
