//! Credentials in free text: found by a lexicon, taken out before anything else sees the text (R13–R15).
//!
//! Labels decide what is taken. What is let through is decided the other way round: a text that
//! speaks of a secret goes on only when nothing in it can be its value ([`left`]). Where a value or
//! its site can't be told, the text is refused as a whole, in words that hold no part of it.

mod left;
mod tokens;

use serde::Deserialize;

use crate::secrets::{Kind, Scrubber, Secret};
use crate::text::fold::fold_case;

use tokens::{Token, site, split, strong};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Words {
    of: Vec<String>,
    user: Vec<String>,
    password: Vec<String>,
    secret: Vec<String>,
    is: Vec<String>,
    r#as: Vec<String>,
    hand: Vec<String>,
    r#for: Vec<String>,
    joins: Vec<String>,
    then: Vec<String>,
    prose: Vec<String>,
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
    /// Address of the first site the text names.
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
    #[error(
        "the text speaks of a secret, and a word in it may be its value; write `credentials for shop.example, user …, password \"…\"` in a sentence of its own, or leave the secret and every word for it out"
    )]
    Unclear,
    #[error(
        "an address in the text holds a password or a token; write the address without it and hand it over as `credentials for shop.example, user …, password …`"
    )]
    InAddress,
    #[error(
        "a one-time code, PIN or other secret is in the text; leave it out: a seed for codes goes into the vault by `rehearsal credentials add --totp`"
    )]
    Other,
    #[error("the lexicon can't be read: {0}")]
    Lexicon(String),
}

impl Words {
    pub fn read(text: &str) -> Result<Self, IntakeError> {
        let mut words: Self =
            serde_saphyr::from_str(text).map_err(|e| IntakeError::Lexicon(e.to_string()))?;
        for list in words.lists() {
            for word in list.iter_mut() {
                *word = fold_case(word);
            }
        }
        Ok(words)
    }

    pub fn built_in() -> Result<Vec<Self>, IntakeError> {
        BUILT_IN.iter().map(|text| Self::read(text)).collect()
    }

    /// One lexicon of all: people mix languages, and a secret is one in any.
    fn all(languages: &[Self]) -> Self {
        let mut all = Self::default();
        for language in languages {
            let mut language = language.clone();
            for (whole, part) in all.lists().into_iter().zip(language.lists()) {
                whole.append(part);
            }
        }
        all
    }

    fn lists(&mut self) -> [&mut Vec<String>; 11] {
        [
            &mut self.of,
            &mut self.user,
            &mut self.password,
            &mut self.secret,
            &mut self.is,
            &mut self.r#as,
            &mut self.hand,
            &mut self.r#for,
            &mut self.joins,
            &mut self.then,
            &mut self.prose,
        ]
    }

    /// Whether a folded word alone is a label of any kind.
    fn labels(&self, folded: &str) -> bool {
        [&self.of, &self.user, &self.password, &self.secret]
            .iter()
            .any(|list| list.iter().any(|word| word == folded))
    }
}

/// Where the longest phrase of a list that begins at a token ends.
fn phrase_at(tokens: &[Token<'_>], at: usize, list: &[String]) -> Option<usize> {
    list.iter()
        .filter_map(|phrase| {
            let mut end = at;
            for word in phrase.split(' ') {
                // A stop within it parts the words.
                let apart = end > at && tokens[end - 1].ends_clause();
                if apart || tokens.get(end)?.folded != word {
                    return None;
                }
                end += 1;
            }
            Some(end)
        })
        .max()
}

/// What stands after a label.
enum After {
    /// Its value may be this token; `said`: after a mark or a word such as "is".
    Value { at: usize, said: bool },
    /// A mark and nothing behind it.
    Missing,
    /// Another word of a language, or nothing.
    Nothing,
}

/// More words than these between a label and "is" are another sentence.
const BETWEEN: usize = 6;

impl Words {
    /// Words that say nothing of what follows.
    fn small(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let lists = [
            &self.hand,
            &self.r#for,
            &self.joins,
            &self.then,
            &self.prose,
            &self.is,
            &self.of,
        ];
        lists
            .iter()
            .any(|list| phrase_at(tokens, at, list).is_some())
    }

    fn label_at(&self, tokens: &[Token<'_>], at: usize) -> Option<usize> {
        [&self.of, &self.user, &self.password, &self.secret]
            .iter()
            .filter_map(|list| phrase_at(tokens, at, list))
            .max()
    }

    /// What follows the label that ends before `end`.
    fn after(&self, tokens: &[Token<'_>], end: usize) -> After {
        let label = &tokens[end - 1];
        let mut marked = label.labels;
        let mut is = false;
        let mut at = end;
        if !marked {
            if label.ends_clause() && !label.text.ends_with(')') {
                return After::Nothing;
            }
            // "password for shop.test is …", "pass phrase (of bob): …"
            let mut look = end;
            while look < tokens.len().min(end + BETWEEN) {
                if let Some(after) = phrase_at(tokens, look, &self.is) {
                    (is, at) = (true, after);
                    break;
                }
                let token = &tokens[look];
                if token.labels && !self.labels(&token.folded) {
                    (marked, at) = (true, look + 1);
                    break;
                }
                let small = self.small(tokens, look) || site(token.text).is_some();
                let joins = token.folded.chars().count() > 1
                    && phrase_at(tokens, look, &self.joins).is_some()
                    && phrase_at(tokens, look, &self.r#for).is_none();
                if self.label_at(tokens, look).is_some()
                    || token.ends_sentence()
                    || joins
                    || (look == end && !small)
                {
                    break;
                }
                look += 1;
            }
        }
        marked |= at > end && tokens[at - 1].labels;
        let Some(token) = tokens.get(at) else {
            return if marked {
                After::Missing
            } else {
                After::Nothing
            };
        };
        // A quoted word is what it is; an unquoted one may be the next label, or a word of the sentence.
        let word = !token.quoted()
            && (self.label_at(tokens, at).is_some() && (token.labels || !strong(token.value())));
        // After a secret's label a site's name may well be the secret.
        let secret = [&self.password, &self.secret].iter().any(|list| {
            list.iter()
                .any(|l| l.split(' ').next_back() == Some(&label.folded))
        });
        let place = site(token.text).is_some() && !secret;
        let mut prose = !token.quoted() && !marked && (self.small(tokens, at) || place);
        // "is wrong, …" and "field on …", but "is correct horse …" may be a value.
        prose &= (!is && phrase_at(tokens, at, &self.prose).is_none())
            || token.ends_clause()
            || at + 1 >= tokens.len()
            || self.small(tokens, at + 1)
            || self.label_at(tokens, at + 1).is_some()
            || site(tokens[at + 1].text).is_some();
        match (word || prose, marked) {
            (true, true) => After::Missing,
            (true, false) => After::Nothing,
            (false, _) => After::Value {
                at,
                said: marked || is,
            },
        }
    }

    /// Whether a value surely ends with its token. `pass phrases` of several words need quotation marks.
    fn whole(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let token = &tokens[at];
        if token.quoted() || token.ends_clause() {
            return true;
        }
        let Some(next) = tokens.get(at + 1) else {
            return true;
        };
        let joins = phrase_at(tokens, at + 1, &self.joins).is_some()
            || phrase_at(tokens, at + 1, &self.r#for).is_some()
            || phrase_at(tokens, at + 1, &self.then).is_some();
        next.text.starts_with('(')
            || matches!(next.text, "/" | "|" | "," | ";" | "-" | "–")
            || self.label_at(tokens, at + 1).is_some()
            || (joins && strong(token.value()))
    }
}

/// Where a value stands: a token, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    start: usize,
    end: usize,
    /// Its token.
    at: usize,
}

fn span_of(token: &Token<'_>, at: usize, part: &str, text: &str) -> Span {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    debug_assert!(start >= token.start);
    Span {
        start,
        end: start + part.len(),
        at,
    }
}

#[derive(Debug, Clone, Copy)]
struct Values {
    password: Span,
    user: Option<Span>,
}

/// Takes credentials out of a text, or says why it can't be passed on.
pub fn take(text: &str, languages: &[Words]) -> Result<Taken, IntakeError> {
    let words = Words::all(languages);
    let tokens = split(text, &words);
    for token in &tokens {
        left::address(token.text, &words)?;
    }
    let sites = sites(&tokens);
    let Some(values) = found(text, &tokens, &words)? else {
        left::nothing(&tokens, &words, left::Of::Whole)?;
        return Ok(Taken {
            text: text.trim().to_owned(),
            credential: None,
            site: sites.first().map(|s| s.address.clone()),
        });
    };
    taken(text, &tokens, &words, values, &sites)
}

fn found(text: &str, tokens: &[Token<'_>], words: &Words) -> Result<Option<Values>, IntakeError> {
    if let Some(values) = pair(text, tokens, words)? {
        return Ok(Some(values));
    }
    let mut known = met(text, tokens, &words.password, words)?;
    // Said twice it is still one.
    known.dedup_by_key(|span| text[span.start..span.end].to_owned());
    let [password] = known[..] else {
        return match known.is_empty() {
            true => Ok(None),
            false => Err(IntakeError::Two),
        };
    };
    let user = met(text, tokens, &words.user, words)?
        .into_iter()
        .find(|span| span.at != password.at)
        .or_else(|| as_user(text, tokens, words, password));
    Ok(Some(Values { password, user }))
}

/// The values behind labels of a kind, where they can be told.
fn met(
    text: &str,
    tokens: &[Token<'_>],
    labels: &[String],
    words: &Words,
) -> Result<Vec<Span>, IntakeError> {
    let announced = (0..tokens.len()).any(|at| phrase_at(tokens, at, &words.of).is_some());
    let password = std::ptr::eq(labels, words.password.as_slice());
    let mut all = Vec::new();
    let mut doubtful = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(end) = phrase_at(tokens, at, labels) else {
            at += 1;
            continue;
        };
        let mut next = end;
        let value = match words.after(tokens, end) {
            After::Nothing => None,
            // A user's label may be an ordinary word: `login:` before a list.
            After::Missing if !password => None,
            After::Missing => return Err(IntakeError::NoValue),
            After::Value { at: value, said } => {
                let token = &tokens[value];
                let sure = said || announced || token.quoted() || strong(token.value());
                let whole = words.whole(tokens, value);
                match (sure, whole) {
                    (true, _) if token.unclosed() => return Err(IntakeError::Unclear),
                    (true, true) => {
                        next = value + 1;
                        Some(span_of(token, value, token.value(), text))
                    }
                    // Whoever the user is, no more of the name may stay.
                    (true, false) if !password && strong_user(tokens, value, words) => {
                        next = value + 1;
                        Some(span_of(token, value, token.value(), text))
                    }
                    (true, false) if password => {
                        doubtful.push(token.value());
                        None
                    }
                    _ => None,
                }
            }
        };
        all.extend(value);
        at = next.max(end);
    }
    // What is known from elsewhere in the text ends where it ends there.
    let known = |value: &&str| {
        all.iter()
            .any(|span: &Span| text[span.start..span.end] == **value)
    };
    match doubtful.iter().all(known) {
        true => Ok(all),
        false => Err(IntakeError::Unclear),
    }
}

/// A user name may be a plain word, and what joins it to the rest ends it.
fn strong_user(tokens: &[Token<'_>], at: usize, words: &Words) -> bool {
    words.small(tokens, at + 1) || strong(tokens[at].value())
}

/// "as bob7", where nothing else names the user.
fn as_user(text: &str, tokens: &[Token<'_>], words: &Words, password: Span) -> Option<Span> {
    let at = (0..tokens.len()).find_map(|at| {
        let value = phrase_at(tokens, at, &words.r#as)?;
        let token = tokens.get(value)?;
        let name = !words.small(tokens, value)
            && words.label_at(tokens, value).is_none()
            && site(token.text).is_none();
        let ends = words.whole(tokens, value) || strong_user(tokens, value, words);
        (name && ends && value != password.at).then_some(value)
    })?;
    Some(span_of(&tokens[at], at, tokens[at].value(), text))
}

/// User and password in one: `bob7:…`, `credentials are bob7/…`, `user/password: bob7, …`.
fn pair(text: &str, tokens: &[Token<'_>], words: &Words) -> Result<Option<Values>, IntakeError> {
    let both = |at: usize, left: &str, right: &str| Values {
        user: Some(span_of(&tokens[at], at, left, text)),
        password: span_of(&tokens[at], at, right, text),
    };
    // Labels side by side, then their values in the same order.
    for at in 0..tokens.len() {
        let Some(end) = phrase_at(tokens, at, &words.user) else {
            continue;
        };
        let mut second = end;
        while tokens
            .get(second)
            .is_some_and(|t| matches!(t.text, "/" | "," | "&" | "+"))
            || (second == end
                && !tokens[end - 1].labels
                && phrase_at(tokens, second, &words.joins).is_some())
        {
            second += 1;
        }
        let Some(end) = phrase_at(tokens, second, &words.password) else {
            continue;
        };
        let After::Value { at: first, said } = words.after(tokens, end) else {
            continue;
        };
        let glued = tokens[first].halves(&['/', ':', '|', ',']);
        if let Some((left, right)) = glued {
            return match words.whole(tokens, first) {
                true => Ok(Some(both(first, left, right))),
                false => Err(IntakeError::Unclear),
            };
        }
        let mut then = first + 1;
        while tokens
            .get(then)
            .is_some_and(|t| matches!(t.text, "/" | "," | "|" | "-"))
            || phrase_at(tokens, then, &words.joins).is_some()
        {
            then += 1;
        }
        let right = tokens
            .get(then)
            .filter(|_| said && !tokens[first].ends_sentence());
        match right {
            Some(token) if words.whole(tokens, then) && !token.unclosed() => {
                return Ok(Some(Values {
                    user: Some(span_of(&tokens[first], first, tokens[first].value(), text)),
                    password: span_of(token, then, token.value(), text),
                }));
            }
            _ => return Err(IntakeError::Unclear),
        }
    }
    // After what announces credentials.
    for at in 0..tokens.len() {
        for list in [&words.of, &words.user] {
            if let Some(end) = phrase_at(tokens, at, list)
                && let After::Value { at: value, .. } = words.after(tokens, end)
                && let Some((left, right)) = tokens[value].halves(&['/', ':', '|'])
                && strong(right)
                && !right.contains(' ')
                && words.whole(tokens, value)
            {
                return Ok(Some(both(value, left, right)));
            }
        }
    }
    // By itself, where something says that it hands over.
    let hands = |at: usize| {
        [&words.of, &words.user, &words.password, &words.hand]
            .iter()
            .any(|list| phrase_at(tokens, at, list).is_some())
    };
    let pairs: Vec<usize> = (0..tokens.len())
        .filter(|at| left::is_pair(&tokens[*at]))
        .collect();
    match pairs[..] {
        [at] if (0..tokens.len()).any(hands) && words.whole(tokens, at) => {
            let halves = tokens[at].halves(&[':']);
            Ok(halves.map(|(left, right)| both(at, left, right)))
        }
        _ => Ok(None),
    }
}

/// A site as the text names it.
struct Site {
    at: usize,
    address: String,
    host: String,
}

/// Every site. The scheme written anywhere counts wherever the host is named.
fn sites(tokens: &[Token<'_>]) -> Vec<Site> {
    let host_of = |address: &str| {
        let url = url::Url::parse(address).ok()?;
        let host = url.host_str()?.to_owned();
        Some(match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        })
    };
    let named: Vec<(usize, String, String)> = tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| {
            let site = site(token.text)?;
            let host = host_of(&address_of(&site))?;
            Some((at, site, host))
        })
        .collect();
    let written = |host: &str| {
        named
            .iter()
            .find(|(_, site, other)| site.contains("://") && other == host)
            .map(|(_, site, _)| site.clone())
    };
    named
        .iter()
        .map(|(at, site, host)| Site {
            at: *at,
            address: written(host)
                .filter(|_| !site.contains("://"))
                .unwrap_or_else(|| address_of(site)),
            host: host.clone(),
        })
        .collect()
}

fn taken(
    text: &str,
    tokens: &[Token<'_>],
    words: &Words,
    values: Values,
    sites: &[Site],
) -> Result<Taken, IntakeError> {
    let secret = |span: Span| Secret::new(text[span.start..span.end].to_owned());
    let password = secret(values.password).map_err(|_| IntakeError::NoValue)?;
    let username = values.user.and_then(|span| secret(span).ok());
    let clauses = clauses(tokens, words, values);
    let inside = |site: &&Site| {
        clauses
            .iter()
            .any(|(from, to)| (*from..*to).contains(&site.at))
    };
    // The site named beside the values, or the only one.
    let own = sites.iter().find(inside).or_else(|| {
        let first = sites.first()?;
        sites.iter().all(|s| s.host == first.host).then_some(first)
    });
    let origin = own
        .and_then(|site| origin_of(&site.address))
        .ok_or(IntakeError::NoSite)?;
    let name = name_of(&origin);
    let scrubber = Scrubber::new();
    scrubber.register(&name, "password", &password, Kind::Password);
    if let Some(username) = &username {
        scrubber.register(&name, "username", username, Kind::Password);
    }
    // Nothing may stay in the sentences that handed over.
    let outside = |at: usize| !clauses.iter().any(|(from, to)| (*from..*to).contains(&at));
    for (from, to) in &clauses {
        left::segment(
            tokens,
            words,
            *from..*to,
            &outside,
            &values_of(text, values),
        )?;
    }
    // The clauses go as a whole; the scrubber takes what stands elsewhere.
    let mut rest = String::new();
    let mut at = 0;
    for (from, to) in &clauses {
        rest.push_str(&text[at..tokens[*from].start]);
        let end = tokens[*to - 1].end();
        rest.push(' ');
        // The stop of the sentence stays.
        let stop = text[..end].ends_with(['.', ';', ',']) && !rest.trim().is_empty();
        if stop {
            rest.push_str(&text[end - 1..end]);
        }
        at = end;
    }
    rest.push_str(&text[at..]);
    let cleaned = tidy(scrubber.clean(&rest).as_str());
    let again = split(&cleaned, words);
    left::nothing(&again, words, left::Of::Labels)?;
    Ok(Taken {
        text: cleaned,
        credential: Some(Handed {
            name,
            origin,
            username,
            password,
        }),
        site: sites.first().map(|s| s.address.clone()),
    })
}

fn values_of(text: &str, values: Values) -> Vec<String> {
    [Some(values.password), values.user]
        .into_iter()
        .flatten()
        .map(|span| text[span.start..span.end].to_owned())
        .collect()
}

/// The ranges of tokens that hand over: labels and values with the small words before them. Two
/// with nothing else between them are one.
fn clauses(tokens: &[Token<'_>], words: &Words, values: Values) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = [Some(values.password), values.user]
        .into_iter()
        .flatten()
        .map(|span| (clause_start(tokens, words, span.at), span.at + 1))
        .collect();
    ranges.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Back from a value over "remember parcels.test credentials" to the sentence's beginning, or else
/// over "with user" to where something stands that is wanted: "sign in at shop.test".
fn clause_start(tokens: &[Token<'_>], words: &Words, value: usize) -> usize {
    let own = [
        &words.user,
        &words.password,
        &words.is,
        &words.r#as,
        &words.hand,
    ];
    let all = [&own[..], &[&words.of, &words.r#for]].concat();
    let whole = back(tokens, &all, true, value);
    let begins = whole == 0 || tokens[whole - 1].ends_sentence();
    let announced = (whole..value).any(|at| phrase_at(tokens, at, &words.of).is_some());
    if begins || announced {
        whole
    } else {
        back(tokens, &own, false, value)
    }
}

fn back(tokens: &[Token<'_>], lists: &[&Vec<String>], sites: bool, value: usize) -> usize {
    let mut at = value;
    while at > 0 {
        let before = &tokens[at - 1];
        let known = lists.iter().any(|list| {
            list.iter()
                .any(|phrase| phrase.split(' ').any(|part| part == before.folded))
        });
        let mark = !before.text.contains(char::is_alphanumeric);
        let ends = before.ends_sentence() && !before.labels;
        if ends || !(known || mark || (sites && site(before.text).is_some())) {
            break;
        }
        at -= 1;
    }
    at
}

/// Blanks and stops as a person writes them.
fn tidy(text: &str) -> String {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || ",;.)".contains(c));
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let stop = word.starts_with([',', ';', '.']) && word.len() == 1;
        if stop && out.ends_with([',', ';', '.']) {
            continue;
        }
        if !out.is_empty() && !stop {
            out.push(' ');
        }
        out.push_str(word);
    }
    out.trim_end_matches(|c: char| c.is_whitespace() || ",;(".contains(c))
        .to_owned()
}

/// HTTPS unless the text says otherwise.
fn address_of(site: &str) -> String {
    if site.contains("://") {
        site.to_owned()
    } else {
        format!("https://{site}/")
    }
}

fn origin_of(address: &str) -> Option<String> {
    let url = url::Url::parse(address).ok()?;
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
mod tests;
