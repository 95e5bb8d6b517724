//! From a fitted pattern to the act.

use std::path::PathBuf;
use std::time::Duration;

use super::matching::{Found, content, direction, key};
use super::tokens::{Token, begins, slice};
use super::{Grammar, SentenceError};
use crate::scenario::bind_to_direction;
use crate::scenario::model::*;
use crate::scenario::roles;
use crate::text::fold::fold;

/// The act, and the places a sentence says its target lies in.
pub fn act(
    grammar: &Grammar<'_>,
    found: &Found<'_>,
    said: &str,
) -> Result<(Act, Vec<Target>), SentenceError> {
    let mut within = Vec::new();
    let target = found.slot("target").map(|tokens| {
        let (tokens, place) = placed(grammar, tokens);
        within.extend(place);
        Named::read(grammar, tokens)
    });
    Ok((act_on(grammar, found, target, said)?, within))
}

fn act_on(
    grammar: &Grammar<'_>,
    found: &Found<'_>,
    on_what: Option<Named>,
    said: &str,
) -> Result<Act, SentenceError> {
    let text = |slot: &str| {
        found
            .slot(slot)
            .map(|t| content(grammar.text, t))
            .unwrap_or_default()
    };
    let target = || on_what.clone().map(|n| n.into_target(grammar));
    let phrase = |verb: Verb, named: Named, value: Option<Value>| {
        let others = match verb {
            Verb::Fill => other_readings(grammar, found),
            _ => Vec::new(),
        };
        Act::Sentence(Phrase {
            verb,
            target: named.words,
            role: named.role,
            value,
            text: said.to_string(),
            others,
        })
    };
    // The act itself where the target is explicit, else a phrase to be found on the page.
    let on = |verb: Verb, value: Option<Value>, make: &dyn Fn(Target) -> Act| {
        let named = on_what.clone().map(|n| n.fit_for(verb));
        match named {
            Some(n) if n.explicit => make(n.into_target(grammar)),
            Some(n) => phrase(verb, n, value),
            None => phrase(verb, Named::default(), value),
        }
    };
    Ok(match found.form {
        "goto" => Act::Goto(text("address")),
        "click" => on(Verb::Click, None, &Act::Click),
        "fill" => {
            let value = value(grammar, found.slot("value").unwrap_or_default());
            on(Verb::Fill, Some(value.clone()), &|target| Act::Fill {
                target,
                value: value.clone(),
            })
        }
        "select" => {
            let option = text("option");
            match found.slot("target") {
                None => Act::Select {
                    option,
                    target: None,
                },
                Some(_) => on(Verb::Select, Some(Value::Text(option.clone())), &|t| {
                    Act::Select {
                        option: option.clone(),
                        target: Some(t),
                    }
                }),
            }
        }
        "check" => on(Verb::Check, None, &|target| Act::Check { target, on: true }),
        "uncheck" => on(Verb::Uncheck, None, &|target| Act::Check {
            target,
            on: false,
        }),
        form @ ("clear" | "empty")
            if form == "empty" || on_what.as_ref().is_some_and(Named::is_field) =>
        {
            let nothing = Value::Text(String::new());
            on(Verb::Fill, Some(nothing.clone()), &|target| Act::Fill {
                target,
                value: nothing.clone(),
            })
        }
        "clear" => on(Verb::Uncheck, None, &|target| Act::Check {
            target,
            on: false,
        }),
        "press" => {
            let keys = found
                .slot("keys")
                .and_then(|t| key(grammar, t))
                .unwrap_or_default();
            match found.slot("target") {
                None => Act::Press { keys, target: None },
                Some(_) => on(Verb::Press, Some(Value::Text(keys.clone())), &|t| {
                    Act::Press {
                        keys: keys.clone(),
                        target: Some(t),
                    }
                }),
            }
        }
        "hover" => on(Verb::Hover, None, &Act::Hover),
        "submit" => on(Verb::Submit, None, &Act::Submit),
        "scroll" => {
            let to = found
                .slot("direction")
                .and_then(|t| direction(grammar, t))
                .and_then(|d| bind_to_direction(&d));
            Act::Scroll {
                to: to.unwrap_or(ScrollTo::Down),
                target: target(),
            }
        }
        "scroll_to" => on(Verb::Scroll, None, &|t| Act::Scroll {
            to: ScrollTo::Target(t),
            target: None,
        }),
        "drag" => match (
            target(),
            found
                .slot("to")
                .map(|t| Named::read(grammar, t).into_target(grammar)),
        ) {
            (Some(target), Some(to)) => Act::Drag { target, to },
            _ => phrase(Verb::Drag, Named::default(), None),
        },
        "upload" => Act::Upload {
            file: PathBuf::from(text("file")),
            target: target(),
        },
        "login" => Act::Login(credential(grammar, found, said)?),
        "wait" => on(Verb::Wait, None, &|t| Act::Wait(WaitFor::Target(t))),
        "gone" => match target() {
            Some(t) => Act::Wait(WaitFor::Gone(t)),
            None => phrase(Verb::Wait, Named::default(), None),
        },
        "wait_url" => Act::Wait(WaitFor::Url(text("text"))),
        "seconds" => Act::Wait(WaitFor::Seconds(
            Duration::try_from_secs_f64(text("seconds").parse().unwrap_or(0.0)).unwrap_or_default(),
        )),
        "wait_for_user" => Act::WaitForUser(text("text")),
        "see" => expect(grammar, ExpectLine::See(text("text"))),
        "not_see" => expect(grammar, ExpectLine::NotSee(text("text"))),
        "url" => expect(grammar, ExpectLine::Url(text("text"))),
        "title" => expect(grammar, ExpectLine::Title(text("text"))),
        "use" => Act::Use {
            flow: text("flow"),
            vars: Default::default(),
        },
        _ => Act::Plan(text("text")),
    })
}

/// What else the same words may mean, where a preposition stands twice.
fn other_readings(grammar: &Grammar<'_>, found: &Found<'_>) -> Vec<(String, Value)> {
    let others = found.others.iter();
    let others = others.filter(|other| !fills_a_place(grammar, other));
    let readings = others.filter_map(|other| {
        let named = Named::read(grammar, other.slot("target")?);
        let value = value(grammar, other.slot("value")?);
        (!named.words.is_empty()).then_some((named.words, value))
    });
    readings.take(4).collect()
}

/// Roles of places a sentence may narrow by.
const PLACES: [&str; 14] = [
    "row",
    "dialog",
    "table",
    "list",
    "listitem",
    "menu",
    "navigation",
    "region",
    "group",
    "form",
    "article",
    "toolbar",
    "tabpanel",
    "main",
];

/// Whether a field or list to fill is named as a place: "12 in Quantity" into "the row Anchor".
pub fn fills_a_place(grammar: &Grammar<'_>, found: &Found<'_>) -> bool {
    let target = || Some(Named::read(grammar, found.slot("target")?));
    let fields = ["list", "menu", "group"];
    matches!(found.form, "fill" | "select")
        && target()
            .and_then(|named| named.role)
            .is_some_and(|r| PLACES.contains(&r.as_str()) && !fields.contains(&r.as_str()))
}

/// Cuts "in the row Anchor" off a target: the last such words with a name or an only role of a place.
fn placed<'t>(grammar: &Grammar<'_>, tokens: &'t [Token]) -> (&'t [Token], Option<Target>) {
    for at in (1..tokens.len().saturating_sub(1)).rev() {
        let word = &tokens[at];
        if word.quoted.is_some() || !grammar.lexicon.inside.contains(&word.word) {
            continue;
        }
        let named = Named::read(grammar, &tokens[at + 1..]);
        if named.role.as_deref().is_some_and(|r| PLACES.contains(&r)) {
            return (&tokens[..at], Some(named.into_target(grammar)));
        }
    }
    (tokens, None)
}

fn expect(grammar: &Grammar<'_>, line: ExpectLine) -> Act {
    Act::Expect(vec![Expectation {
        line,
        within: Vec::new(),
        span: grammar.span,
    }])
}

/// Text, or `credential name.field`.
fn value(grammar: &Grammar<'_>, tokens: &[Token]) -> Value {
    for words in &grammar.lexicon.credential {
        if begins(tokens, words)
            && let [one] = &tokens[words.len()..]
        {
            let said = content(grammar.text, std::slice::from_ref(one));
            if let Some((name, field)) = said
                .split_once('.')
                .filter(|(n, f)| grammar.credentials.iter().any(|c| c == n) && !f.is_empty())
            {
                return Value::Credential {
                    name: name.to_string(),
                    field: field.to_string(),
                };
            }
        }
    }
    Value::Text(content(grammar.text, tokens))
}

/// The credential a sentence names, or the only one there is ("as the test user").
fn credential(
    grammar: &Grammar<'_>,
    found: &Found<'_>,
    said: &str,
) -> Result<String, SentenceError> {
    let tokens = found.slot("credential").unwrap_or_default();
    // Words behind "and" would be lost here; elsewhere they stay part of a name or value.
    if let Some((_, start)) = grammar.joints(tokens).first() {
        let rest = &tokens[*start..];
        return Err(grammar.unknown(rest, slice(grammar.text, rest)));
    }
    let names = tokens
        .iter()
        .map(|t| content(grammar.text, std::slice::from_ref(t)));
    let named: Vec<String> = names.filter(|n| grammar.credentials.contains(n)).collect();
    match (named.as_slice(), grammar.credentials) {
        ([one], _) => Ok(one.clone()),
        // A name in quotation marks is meant as one and isn't listed.
        ([], [only]) if tokens.iter().all(|t| t.quoted.is_none()) => Ok(only.clone()),
        _ => Err(SentenceError::Credential {
            said: said.to_string(),
            known: grammar.credentials.to_vec(),
        }),
    }
}

/// A target as a sentence says it.
#[derive(Debug, Default, Clone)]
struct Named {
    words: String,
    role: Option<String>,
    /// The role was said by a word that may mean another one, as "box" does, not by its own.
    loosely: bool,
    exact: bool,
    /// In quotation marks, or a role and nothing else.
    explicit: bool,
}

/// Roles that stand behind a name even without an article: "Click Sign in button".
const PLAIN: [&str; 5] = ["button", "link", "textbox", "checkbox", "radio"];

/// Not roles but other ways to name a thing; only before the name.
const WAYS: [&str; 3] = ["text", "css", "testid"];

impl Named {
    fn read(grammar: &Grammar<'_>, all: &[Token]) -> Self {
        let lexicon = grammar.lexicon;
        let mut tokens = all;
        let mut exact = false;
        if let Some(words) = lexicon
            .exactly
            .iter()
            .find(|w| begins(tokens, w) && w.len() < tokens.len())
        {
            exact = true;
            tokens = &tokens[words.len()..];
        }
        let (mut tokens, had_article) = without_articles(grammar, tokens);
        let (mut role, mut loosely) = (None, false);
        // "the Search box": its name is Search, though `search box` is a word for a role.
        let named_box = trailing_role(grammar, tokens).is_some();
        if let Some((len, found)) = leading_role(grammar, tokens) {
            if len == tokens.len()
                && !named_box
                && !WAYS.contains(&found.as_str())
                && (had_article || exact)
            {
                return Self {
                    words: String::new(),
                    loosely: !is_own_word(grammar, &tokens[..len], &found),
                    role: Some(found),
                    exact,
                    explicit: true,
                };
            }
            if len < tokens.len() {
                loosely = !is_own_word(grammar, &tokens[..len], &found);
                tokens = without_articles(grammar, &tokens[len..]).0;
                if let [filler, rest @ ..] = tokens
                    && !rest.is_empty()
                    && filler.quoted.is_none()
                    && (lexicon.fillers.contains(&filler.word)
                        || PLACES.contains(&found.as_str())
                            && lexicon.linking.contains(&filler.word))
                {
                    tokens = rest;
                }
                role = Some(found);
            }
        }
        if role.is_none()
            && let Some((len, found)) = trailing_role(grammar, tokens)
        {
            let quoted = matches!(
                &tokens[..tokens.len() - len],
                [Token {
                    quoted: Some(_),
                    ..
                }]
            );
            if quoted || had_article || PLAIN.contains(&found.as_str()) {
                let (name, word) = tokens.split_at(tokens.len() - len);
                loosely = !is_own_word(grammar, word, &found);
                tokens = name;
                role = Some(found);
            }
        }
        match tokens {
            [
                Token {
                    quoted: Some(name), ..
                },
            ] if !name.trim().is_empty() => Self {
                words: name.clone(),
                role,
                loosely,
                exact,
                explicit: true,
            },
            _ => {
                let explicit = role.as_deref().is_some_and(|r| WAYS.contains(&r));
                Self {
                    words: fold(&content(grammar.text, tokens)),
                    role,
                    loosely,
                    exact,
                    explicit,
                }
            }
        }
    }

    fn is_field(&self) -> bool {
        let fields = ["textbox", "searchbox", "combobox", "spinbutton"];
        self.role.as_deref().is_some_and(|r| fields.contains(&r))
    }

    /// "Box" is a field to be filled, and what is ticked.
    fn fit_for(mut self, verb: Verb) -> Self {
        let ticks = matches!(verb, Verb::Check | Verb::Uncheck);
        if ticks && self.loosely && self.role.as_deref() == Some("textbox") {
            self.role = None;
        }
        self
    }

    fn into_target(self, grammar: &Grammar<'_>) -> Target {
        let by = match self.role.as_deref() {
            Some("text") => By::Text(self.words),
            Some("css") => By::Css(self.words),
            Some("testid") => By::TestId(self.words),
            _ => By::Name {
                role: self.role,
                name: Some(self.words).filter(|w| !w.is_empty()),
                exact: self.exact,
            },
        };
        Target {
            by,
            span: grammar.span,
        }
    }
}

/// Whether a role is said by the word the lexicon says it by.
fn is_own_word(grammar: &Grammar<'_>, said: &[Token], role: &str) -> bool {
    let said: Vec<&str> = said.iter().map(|t| t.word.as_str()).collect();
    said.join(" ") == grammar.lexicon.role_word(role)
}

fn without_articles<'t>(grammar: &Grammar<'_>, tokens: &'t [Token]) -> (&'t [Token], bool) {
    let articles = tokens
        .iter()
        .take_while(|t| t.quoted.is_none() && grammar.lexicon.articles.contains(&t.word))
        .count()
        .min(tokens.len().saturating_sub(1));
    (&tokens[articles..], articles > 0)
}

fn leading_role(grammar: &Grammar<'_>, tokens: &[Token]) -> Option<(usize, String)> {
    let listed = grammar
        .lexicon
        .roles
        .iter()
        .filter(|(words, _)| begins(tokens, words))
        .max_by_key(|(words, _)| words.len());
    if let Some((words, role)) = listed {
        return Some((words.len(), role.clone()));
    }
    let first = tokens.first().filter(|t| t.quoted.is_none())?;
    // The bare ARIA word counts before a quoted name, in every language.
    matches!(
        tokens.get(1),
        Some(Token {
            quoted: Some(_),
            ..
        })
    )
    .then(|| roles::role(&first.word))
    .flatten()
    .map(|r| (1, r.to_string()))
}

fn trailing_role(grammar: &Grammar<'_>, tokens: &[Token]) -> Option<(usize, String)> {
    grammar
        .lexicon
        .roles
        .iter()
        .filter(|(words, role)| {
            words.len() < tokens.len()
                && begins(&tokens[tokens.len() - words.len()..], words)
                && !WAYS.contains(&role.as_str())
        })
        .max_by_key(|(words, _)| words.len())
        .map(|(words, role)| (words.len(), role.clone()))
}
