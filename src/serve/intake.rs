//! Credentials in free text: found by a lexicon, taken out before anything else sees the text (R13–R15).
//!
//! Labels decide, never guesses at what looks like a password. Where a label stands and its value or
//! its site can't be told, the text is refused as a whole: half of it must not go on.

use serde::Deserialize;

use crate::secrets::{Kind, Scrubber, Secret};
use crate::text::fold::fold;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    of: Vec<String>,
    user: Vec<String>,
    password: Vec<String>,
    is: Vec<String>,
    hand: Vec<String>,
    r#for: Vec<String>,
}

/// The built-in languages.
const BUILT_IN: &[&str] = &[
    include_str!("intake/en.yaml"),
    include_str!("intake/it.yaml"),
];

/// A credential as it was handed over.
pub struct Handed {
    /// `parcels-user`
    pub name: String,
    pub origin: String,
    pub username: Option<Secret>,
    pub password: Secret,
}

/// What remains: text without values, and what was in it.
pub struct Taken {
    /// May be shown, stored and sent.
    pub text: String,
    pub credential: Option<Handed>,
    /// The first address or host the text names.
    pub site: Option<String>,
}

/// Messages hold no part of the text: it may be the secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntakeError {
    #[error("a password is announced, but no value follows it; write `password: …`")]
    NoValue,
    #[error(
        "a password is there, but not for which site; write `credentials for shop.example, user …, password …`"
    )]
    NoSite,
    #[error("two passwords are in the text; hand over one credential at a time")]
    Two,
    #[error("the lexicon can't be read: {0}")]
    Lexicon(String),
}

/// One word with its place and its folded form.
struct Token<'a> {
    text: &'a str,
    folded: String,
    start: usize,
    /// A label ends here: `user:`
    labels: bool,
}

impl Words {
    pub fn read(text: &str) -> Result<Self, IntakeError> {
        serde_saphyr::from_str(text).map_err(|e| IntakeError::Lexicon(e.to_string()))
    }

    pub fn built_in() -> Result<Vec<Self>, IntakeError> {
        BUILT_IN.iter().map(|text| Self::read(text)).collect()
    }
}

/// Takes credentials out of a text, by the first language that finds a password.
pub fn take(text: &str, languages: &[Words]) -> Result<Taken, IntakeError> {
    let tokens = split(text);
    let site = tokens.iter().find_map(|t| site(t.text));
    let mut trouble = None;
    for words in languages {
        match found(text, &tokens, words) {
            Ok(Some(values)) => return taken(text, &tokens, words, values, site),
            Ok(None) => {}
            Err(error) => trouble = trouble.or(Some(error)),
        }
    }
    match trouble {
        Some(error) => Err(error),
        None => Ok(Taken {
            text: text.trim().to_owned(),
            credential: None,
            site,
        }),
    }
}

/// Indices of the tokens that hold the values.
struct Values {
    password: usize,
    user: Option<usize>,
}

fn found(text: &str, tokens: &[Token<'_>], words: &Words) -> Result<Option<Values>, IntakeError> {
    let passwords = values(tokens, &words.password, words);
    let mut known: Vec<usize> = passwords.iter().filter_map(|at| *at).collect();
    // Said twice it is still one.
    known.dedup_by_key(|at| value(tokens[*at].text));
    if known.len() > 1 {
        return Err(IntakeError::Two);
    }
    let Some(password) = known.pop() else {
        // "I forgot my password" hands nothing over; "password:" at the end does.
        let announced = !passwords.is_empty() && text.trim_end().ends_with([':', '=']);
        return if announced {
            Err(IntakeError::NoValue)
        } else {
            Ok(None)
        };
    };
    let user = values(tokens, &words.user, words)
        .into_iter()
        .flatten()
        .find(|at| *at != password);
    Ok(Some(Values { password, user }))
}

/// For each label of a kind, the token that holds its value, where one does: after `:` or `=`, after
/// "is", or directly where the text announces credentials.
fn values(tokens: &[Token<'_>], labels: &[String], words: &Words) -> Vec<Option<usize>> {
    let announced = tokens
        .iter()
        .enumerate()
        .any(|(i, _)| words.of.iter().any(|of| phrase_at(tokens, i, of).is_some()));
    let mut all = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let longest = labels
            .iter()
            .filter_map(|label| phrase_at(tokens, at, label))
            .max();
        let Some(end) = longest else {
            at += 1;
            continue;
        };
        let marked = tokens[end - 1].labels;
        let is = tokens
            .get(end)
            .is_some_and(|t| words.is.iter().any(|w| fold(w) == t.folded));
        let value = if is { end + 1 } else { end };
        let here = (marked || is || announced) && value < tokens.len();
        all.push(here.then_some(value));
        at = if here { value + 1 } else { end };
    }
    all
}

/// Where a phrase that begins at a token ends.
fn phrase_at(tokens: &[Token<'_>], at: usize, phrase: &str) -> Option<usize> {
    let folded = fold(phrase);
    let mut end = at;
    for word in folded.split_whitespace() {
        if tokens.get(end)?.folded != word {
            return None;
        }
        end += 1;
    }
    (end > at).then_some(end)
}

fn taken(
    text: &str,
    tokens: &[Token<'_>],
    words: &Words,
    values: Values,
    site: Option<String>,
) -> Result<Taken, IntakeError> {
    let origin = site.as_deref().and_then(origin_of);
    let (Some(origin), Some(site)) = (origin, site) else {
        return Err(IntakeError::NoSite);
    };
    let secret = |at: usize| Secret::new(value(tokens[at].text).to_owned());
    let password = secret(values.password).map_err(|_| IntakeError::NoValue)?;
    let username = values.user.and_then(|at| secret(at).ok());
    let name = name_of(&origin);
    let scrubber = Scrubber::new();
    scrubber.register(&name, "password", &password, Kind::Password);
    if let Some(username) = &username {
        scrubber.register(&name, "username", username, Kind::Password);
    }
    // The clause that hands over goes as a whole; the scrubber takes what stands elsewhere.
    let last = values
        .user
        .map_or(values.password, |u| u.max(values.password));
    let end = tokens[last].start + tokens[last].text.len();
    let start = clause_start(
        tokens,
        words,
        values
            .user
            .map_or(values.password, |u| u.min(values.password)),
    );
    let rest = format!("{} {}", &text[..start], &text[end..]);
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ",;.".contains(c));
    let cleaned = scrubber.clean(rest);
    Ok(Taken {
        text: cleaned
            .as_str()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        credential: Some(Handed {
            name,
            origin,
            username,
            password,
        }),
        site: Some(site),
    })
}

/// Back from the first label over "remember parcels.test credentials" to the sentence's beginning.
fn clause_start(tokens: &[Token<'_>], words: &Words, first_value: usize) -> usize {
    let mut at = first_value;
    while at > 0 {
        let before = &tokens[at - 1];
        let known = [
            &words.of,
            &words.user,
            &words.password,
            &words.is,
            &words.hand,
            &words.r#for,
        ]
        .iter()
        .any(|list| {
            list.iter()
                .any(|w| fold(w).split_whitespace().any(|part| part == before.folded))
        });
        if !known && site(before.text).is_none() {
            break;
        }
        at -= 1;
    }
    tokens.get(at).map_or(0, |t| t.start)
}

/// Words, with `user:x` as label and value.
fn split(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (start, word) in words(text) {
        match label_end(word) {
            Some(end) => {
                push(&mut tokens, start, &word[..end], true);
                push(&mut tokens, start + end + 1, &word[end + 1..], false);
            }
            None if matches!(word, ":" | "=") => {
                if let Some(last) = tokens.last_mut() {
                    last.labels = true;
                }
            }
            None => push(&mut tokens, start, word, false),
        }
    }
    tokens
}

fn push<'a>(tokens: &mut Vec<Token<'a>>, start: usize, text: &'a str, labels: bool) {
    if text.is_empty() {
        return;
    }
    let folded = fold(text.trim_matches(|c: char| ",;.\"'()".contains(c)));
    tokens.push(Token {
        text,
        folded,
        start,
        labels,
    });
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace()
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// The end of a label glued to its value or its colon; an address has none.
fn label_end(word: &str) -> Option<usize> {
    let end = word.find([':', '='])?;
    let label = &word[..end];
    let plain = !label.is_empty() && label.chars().all(|c| c.is_alphabetic() || c == '-');
    (plain && !word[end..].starts_with("://")).then_some(end)
}

/// A value without the quotation marks around it, or the stop that ends its sentence: a value that
/// ends in one itself is written in quotation marks.
fn value(text: &str) -> &str {
    let text = text.trim_end_matches([',', ';', '.']);
    for quote in ['"', '\'', '`'] {
        if let Some(inside) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return inside;
        }
    }
    text
}

/// A host name or an address.
fn site(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| ",;\"'()".contains(c));
    let word = word.trim_end_matches('.');
    if word.starts_with("http://") || word.starts_with("https://") {
        return url::Url::parse(word).ok().map(|_| word.to_owned());
    }
    let (host, port) = word.split_once(':').unwrap_or((word, ""));
    let (_, ending) = host.rsplit_once('.')?;
    let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let good = host.chars().all(fits)
        && ending.len() >= 2
        && ending.chars().all(|c| c.is_alphabetic())
        && port.chars().all(|c| c.is_ascii_digit())
        && !host.starts_with('.');
    good.then(|| word.to_owned())
}

/// HTTPS unless the text says otherwise.
pub fn address_of(site: &str) -> String {
    if site.contains("://") {
        site.to_owned()
    } else {
        format!("https://{site}/")
    }
}

fn origin_of(site: &str) -> Option<String> {
    let url = url::Url::parse(&address_of(site)).ok()?;
    Some(url.origin().ascii_serialization())
}

/// `https://shop.parcels.test` → `parcels-user`
fn name_of(origin: &str) -> String {
    let host = url::Url::parse(origin)
        .ok()
        .and_then(|u| u.host_str().map(str::to_owned))
        .unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let label = labels[labels.len().saturating_sub(2)];
    let plain: String = label
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    format!("{plain}-user")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Taken {
        take(text, &Words::built_in().expect("lexicons")).unwrap_or_else(|e| panic!("{e}"))
    }

    fn record(text: &str) -> (String, String, Option<String>, String) {
        let handed = taken(text).credential.expect("a credential");
        (
            handed.name,
            handed.origin,
            handed.username.map(|u| u.expose().to_owned()),
            handed.password.expose().to_owned(),
        )
    }

    #[test]
    fn r14_both_ways_of_saying_it_give_the_same_record() {
        let one = record("credentials for telepass.com, user alice77, password s3cr3t-Canary");
        let other = record("remember telepass.com credentials usr:alice77, pwd:s3cr3t-Canary");
        assert_eq!(one, other);
        let wanted = (
            "telepass-user",
            "https://telepass.com",
            "alice77",
            "s3cr3t-Canary",
        );
        let one = (
            one.0.as_str(),
            one.1.as_str(),
            one.2.as_deref().unwrap_or(""),
            one.3.as_str(),
        );
        assert_eq!(one, wanted);
    }

    #[test]
    fn r15_another_language_is_another_file() {
        let italian = "credenziali per telepass.com, utente alice77, password s3cr3t-Canary";
        assert_eq!(record(italian).3, "s3cr3t-Canary");
        assert_eq!(
            record("ricorda telepass.com credenziali nome utente: alice77, psw=s3cr3t-Canary")
                .2
                .as_deref(),
            Some("alice77")
        );
        // One nobody built in.
        let german = Words::read("of: [Zugangsdaten]\nuser: [Benutzer]\npassword: [Kennwort]\nis: [ist]\nhand: [merke]\nfor: [für]\n").expect("words");
        let taken = take(
            "Zugangsdaten für post.de, Benutzer otto9, Kennwort geheim-Canary. Lies die Briefe.",
            &[german],
        );
        let taken = taken.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(taken.text, "Lies die Briefe.");
    }

    #[test]
    fn r13_nothing_of_the_values_is_left_in_the_text() {
        for text in [
            "credentials for telepass.com, user alice77, password s3cr3t-Canary. Then download the last invoice; my password s3cr3t-Canary works.",
            "Download the last invoice from telepass.com. user: alice77 password: \"s3cr3t-Canary\"",
            "On telepass.com my username is alice77 and the password is s3cr3t-Canary, show alice77's invoices",
        ] {
            let taken = taken(text);
            assert!(taken.credential.is_some(), "{text}");
            assert!(
                !taken.text.contains("Canary") && !taken.text.contains("alice77"),
                "{}",
                taken.text
            );
            assert!(taken.text.contains("invoice"), "{}", taken.text);
        }
    }

    #[test]
    fn a_text_that_only_speaks_of_passwords_is_left_alone() {
        let taken = taken("Check that http://shop.test/login says password forgotten");
        assert!(taken.credential.is_none());
        assert_eq!(taken.site.as_deref(), Some("http://shop.test/login"));
    }

    #[test]
    fn what_cannot_be_told_is_refused_without_an_echo() {
        let languages = Words::built_in().expect("lexicons");
        let told = |text: &str| match take(text, &languages) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{text} was taken"),
        };
        for text in [
            "user: alice77, password: s3cr3t-Canary",
            "a.test password: one-Canary password: two-Canary",
            "b.test password:",
        ] {
            assert!(!told(text).contains("Canary"), "{text}");
        }
    }
}
