//! Setting values, and reading back what was set (case 028–030, 044, 049).

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::driver::{Actions, DriverError, Key};
use crate::page::acts;
use crate::page::{Node, Tri};
use crate::text::fold::{fold, fold_case};

use super::hands::{Fit, Prepared};
use super::session::Broker;
use super::settling::DOCUMENT_IDLE_MS;
use super::types::{BrokerError, Unfit};

/// A field that was filled is given so long to show that its page wipes or rewrites it.
const STEADY: Duration = Duration::from_millis(60);
/// A page that shows a key late is given so long for it; a text typed that way may be so long.
const ECHOES_WITHIN: Duration = Duration::from_secs(2);
const SLOW_TEXT: usize = 60;
const EMPTYINGS: u32 = 3;
/// A field with a part that can't be removed never comes to be empty.
const EMPTIES_WITHIN: Duration = Duration::from_millis(500);
/// Keys a slider may take to its number.
const SLIDER_STEPS: u32 = 400;

impl Broker {
    /// Sets a text, number, date or rich text control.
    pub(super) async fn fill(&mut self, prepared: &Prepared, text: &str) -> Fit<Vec<String>> {
        if prepared.node.states.read_only {
            return Ok(Err(Unfit::ReadOnly {
                why: read_only_words(&prepared.node).into(),
            }));
        }
        if set_directly(&prepared.node) {
            return self.set(prepared, text).await;
        }
        if prepared.node.tag == "select" {
            return Ok(Err(Unfit::WrongKind {
                why: "it is a list; use `select: <option>` with `in:`".into(),
            }));
        }
        if prepared.node.role == "slider" {
            return self.slide(prepared, text).await;
        }
        self.type_over(prepared, text, prepared.point.entered)
            .await?;
        let mut notes = Vec::new();
        let quiet = self.network_is_quiet();
        let first = match quiet {
            true => acts::finish(&self.realm(), &prepared.context, prepared.id, text).await?,
            false => acts::read_back(&self.realm(), &prepared.context, prepared.id).await?,
        };
        if first
            .left
            .as_deref()
            .is_some_and(|left| same(Some(left), text))
        {
            return Ok(Ok(notes));
        }
        if first.value.is_none() {
            acts::leave(&self.realm(), &prepared.context, prepared.id).await?;
            return Ok(unread(first.length, text).map_or(Ok(notes), Err));
        }
        let mut seen = self.steady_value(prepared, first).await?;
        let holds = |seen: Option<&str>| seen.is_some_and(|seen| shows(seen, text));
        if !holds(seen.as_deref()) && is_drawn_counter(&prepared.node) {
            return self.slide(prepared, text).await;
        }
        if !holds(seen.as_deref()) {
            // The page's own start-up wiped it, or a framework put its old value back: once more.
            match parts(text).as_slice() {
                [Part::Keys(keys)] if keys.chars().count() <= SLOW_TEXT => {
                    self.type_by_key(prepared, keys).await?;
                }
                _ => self.type_over(prepared, text, None).await?,
            }
            let again = acts::read_back(&self.realm(), &prepared.context, prepared.id).await?;
            seen = self.steady_value(prepared, again).await?;
            if same(seen.as_deref(), text) {
                notes.push("typed again: the page had wiped or changed the first try".into());
            }
        }
        let after = acts::leave(&self.realm(), &prepared.context, prepared.id)
            .await?
            .value;
        let seen = after.or(seen);
        if seen.is_none() || same(seen.as_deref(), text) {
            return Ok(Ok(notes));
        }
        let seen = seen.unwrap_or_default();
        if formatted(&seen, text) {
            notes.push(format!(
                "the page shows it as \"{}\"",
                crate::text::visible(&seen)
            ));
            return Ok(Ok(notes));
        }
        Ok(Err(Unfit::WrongKind {
            why: format!(
                "it was filled, but shows \"{}\" afterwards",
                crate::text::visible(&self.scrubber.clean(&seen))
            ),
        }))
    }

    /// Focus, select all, delete, type: what a person does, so that frameworks notice. `entered`: how
    /// that went already.
    pub(super) async fn type_over(
        &mut self,
        prepared: &Prepared,
        text: &str,
        entered: Option<acts::Entered>,
    ) -> Result<(), BrokerError> {
        let focused = match entered {
            Some(entered) => entered.focused,
            None => acts::enter(&self.realm(), &prepared.context, prepared.id).await?,
        };
        if !focused {
            // Rich editors put the focus where they want it on a click.
            self.click(prepared).await?.ok();
            acts::select_text(&self.realm(), &prepared.context, prepared.id).await?;
        }
        let parts = parts(text);
        let (first, rest) = match parts.split_first() {
            Some((Part::Keys(keys), rest)) => (*keys, rest),
            _ => ("", parts.as_slice()),
        };
        let blank = focused && entered.is_some_and(|entered| entered.blank) && !first.is_empty();
        let over = match blank {
            true => Actions::text(first),
            false => Actions::type_over(first, is_rich(&prepared.node)),
        };
        let over = over.map_err(untypable)?;
        self.act(&prepared.context, over).await?;
        for part in rest {
            match part {
                Part::Keys(keys) => {
                    let keys = Actions::text(keys).map_err(untypable)?;
                    self.act(&prepared.context, keys).await?;
                }
                Part::Inserted(text) => {
                    // The focus has left: the rest would go elsewhere. Reading back tells it.
                    let realm = self.realm();
                    if !acts::insert_text(&realm, &prepared.context, prepared.id, text).await? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Each key when the page shows the one before. One that shows them in another form never will:
    /// after one wait in vain there is no other.
    async fn type_by_key(&mut self, prepared: &Prepared, text: &str) -> Result<(), BrokerError> {
        acts::enter(&self.realm(), &prepared.context, prepared.id).await?;
        // What the page still makes of the first try may take the selection away under the key.
        for _ in 0..EMPTYINGS {
            let empty = Actions::type_over("", true).map_err(untypable)?;
            self.act(&prepared.context, empty).await?;
            if self.comes_to_show(prepared, "", EMPTIES_WITHIN).await? {
                break;
            }
        }
        let mut echoes = true;
        for (at, key) in text.char_indices() {
            let key = &text[at..at + key.len_utf8()];
            let keys = Actions::text(key).map_err(untypable)?;
            self.act(&prepared.context, keys).await?;
            let typed = &text[..at + key.len()];
            echoes = echoes && self.comes_to_show(prepared, typed, ECHOES_WITHIN).await?;
        }
        Ok(())
    }

    async fn comes_to_show(
        &mut self,
        prepared: &Prepared,
        text: &str,
        within: Duration,
    ) -> Result<bool, BrokerError> {
        let until = Instant::now() + within;
        loop {
            let now = self.read_value(prepared).await?.unwrap_or_default();
            // A space or a sign is only there to be seen when it is there as typed.
            let is_sign = |c: char| !c.is_alphanumeric();
            if now == text || !text.ends_with(is_sign) && formatted(&now, text) {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Date, time, color and range take no typing (keys go into their parts): set and tell the page.
    async fn set(&mut self, prepared: &Prepared, text: &str) -> Fit<Vec<String>> {
        let answer = acts::set_value(&self.realm(), &prepared.context, prepared.id, text).await?;
        match answer.value {
            Some(value) if answer.ok && same(Some(&value), text) => Ok(Ok(Vec::new())),
            Some(value) if answer.ok && value.is_empty() => Ok(Err(Unfit::WrongKind {
                why: format!("it did not take \"{text}\"; {}", shape_of(&prepared.node)),
            })),
            Some(value) if answer.ok => {
                if prepared.node.input_type.as_deref() == Some("range")
                    || fold_case(&value) == fold_case(text)
                {
                    Ok(Ok(vec![format!("the page made it \"{value}\"")]))
                } else {
                    Ok(Err(Unfit::WrongKind {
                        why: format!("it shows \"{value}\" instead"),
                    }))
                }
            }
            _ => Ok(Err(Unfit::WrongKind {
                why: "its value can't be set".into(),
            })),
        }
    }

    /// A drawn slider moves by arrow keys, one step each, until it shows the number.
    async fn slide(&mut self, prepared: &Prepared, text: &str) -> Fit<Vec<String>> {
        let Ok(wanted) = text.trim().parse::<f64>() else {
            return Ok(Err(Unfit::WrongKind {
                why: format!("it takes a number, not \"{text}\""),
            }));
        };
        let (more, less) = match prepared.node.role.as_str() {
            "spinbutton" => ("ArrowUp", "ArrowDown"),
            _ => ("ArrowRight", "ArrowLeft"),
        };
        acts::focus(&self.realm(), &prepared.context, prepared.id).await?;
        let number = |value: Option<String>| value.and_then(|v| v.trim().parse::<f64>().ok());
        let mut at = number(self.read_value(prepared).await?);
        for _ in 0..SLIDER_STEPS {
            let Some(now) = at else { break };
            if (now - wanted).abs() < f64::EPSILON {
                return Ok(Ok(Vec::new()));
            }
            let key = if now < wanted { more } else { less };
            let Some(key) = Key::by_name(key) else { break };
            self.act(&prepared.context, Actions::chord(&[key])).await?;
            let next = number(self.read_value(prepared).await?);
            // At its end, deaf to keys, or with steps that pass the number by.
            if next == at
                || next.is_some_and(|next| (next < wanted) != (now < wanted) && next != wanted)
            {
                at = next;
                break;
            }
            at = next;
        }
        Ok(Err(Unfit::WrongKind {
            why: match at {
                Some(at) => format!("its arrow keys bring it to {at}, not to {wanted}"),
                None => "it shows no number".into(),
            },
        }))
    }

    /// The field's value once it has held still for a moment.
    async fn steady_value(
        &mut self,
        prepared: &Prepared,
        first: acts::ReadBack,
    ) -> Result<Option<String>, BrokerError> {
        let mut before = first.value;
        // Only a page that still works on itself can wipe a field: a quiet one is believed at once.
        if self.network_is_quiet() && first.quiet.is_some_and(|ms| ms >= DOCUMENT_IDLE_MS) {
            return Ok(before);
        }
        let until = Instant::now() + Duration::from_millis(600);
        loop {
            sleep(STEADY).await;
            let now = self.read_value(prepared).await?;
            if now == before && (self.is_quiet().await || Instant::now() >= until) {
                return Ok(now);
            }
            before = now;
            if Instant::now() >= until {
                return Ok(before);
            }
        }
    }

    async fn read_value(&mut self, prepared: &Prepared) -> Result<Option<String>, BrokerError> {
        Ok(
            acts::read_back(&self.realm(), &prepared.context, prepared.id)
                .await?
                .value,
        )
    }

    // ---- boxes and switches ----------------------------------------------------------------

    pub(super) async fn check(&mut self, prepared: &Prepared, on: bool) -> Fit<Vec<String>> {
        let wanted = if on { Tri::True } else { Tri::False };
        let state = match prepared.point.checked {
            None => acts::checked(&self.realm(), &prepared.context, prepared.id).await?,
            known => known,
        };
        if state.is_none() {
            return Ok(Err(Unfit::WrongKind {
                why: "it has no checked state".into(),
            }));
        }
        if state == Some(wanted) {
            return Ok(Ok(vec![format!(
                "it was {} already",
                if on { "checked" } else { "unchecked" }
            )]));
        }
        self.click(prepared).await?.ok();
        let mut until = Instant::now() + Duration::from_millis(1000);
        // A mixed box becomes checked before it becomes unchecked.
        let mut again = state == Some(Tri::Mixed);
        loop {
            match acts::checked(&self.realm(), &prepared.context, prepared.id).await {
                Ok(Some(now)) if now == wanted => return Ok(Ok(Vec::new())),
                Ok(Some(now)) if again && Some(now) != state => {
                    again = false;
                    self.click(prepared).await?.ok();
                    until = Instant::now() + Duration::from_millis(1000);
                }
                // Its document went away with the click: the page answered, `expect` decides.
                Ok(None) | Err(_) => {
                    return Ok(Ok(vec![
                        "the page changed at once; the state was not read back".into(),
                    ]));
                }
                Ok(Some(_)) if Instant::now() >= until => {
                    return Ok(Err(Unfit::WrongKind {
                        why: format!(
                            "it was clicked, but is still not {}",
                            if on { "checked" } else { "unchecked" }
                        ),
                    }));
                }
                Ok(Some(_)) => sleep(Duration::from_millis(30)).await,
            }
        }
    }
}

/// Some take digits (the parts of a drawn date), others arrow keys alone.
fn is_drawn_counter(node: &Node) -> bool {
    node.role == "spinbutton" && is_rich(node)
}

fn untypable(error: DriverError) -> BrokerError {
    BrokerError::Other(error.to_string())
}

/// A piece of a text that is filled in.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Keys(&'a str),
    /// Characters whose keys do something else: a tab leads to the next field.
    Inserted(&'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let is_no_key = |c: char| c.is_control() && !matches!(c, '\n' | '\r');
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let no_key = is_no_key(c);
        let end = rest.find(|c| is_no_key(c) != no_key).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(if no_key {
            Part::Inserted(part)
        } else {
            Part::Keys(part)
        });
        rest = after;
    }
    parts
}

/// Text is typed into it.
pub(super) fn takes_keys(node: &Node) -> bool {
    !set_directly(node) && node.tag != "select" && node.role != "slider"
}

pub(super) fn set_directly(node: &Node) -> bool {
    node.tag == "input"
        && matches!(
            node.input_type.as_deref(),
            Some("date" | "time" | "datetime-local" | "month" | "week" | "color" | "range")
        )
}

fn is_rich(node: &Node) -> bool {
    !matches!(node.tag.as_str(), "input" | "textarea")
}

/// Drawn date pickers show in a field that takes no typing.
pub(super) fn read_only_words(node: &Node) -> &'static str {
    const DATES: &[&str] = &[
        "date", "day", "month", "year", "time", "calendar", "when", "birthday", "data", "giorno",
        "mese", "ora",
    ];
    let says_date = std::iter::once(node.name.as_str())
        .chain(node.hints.iter().map(|h| h.text.as_str()))
        .flat_map(crate::text::fold::words)
        .any(|word| DATES.contains(&word.as_str()));
    if says_date {
        "it is a read-only date picker; click it and use its own controls"
    } else {
        "it takes no typing; if it is a read-only date picker or list, click it and use what opens"
    }
}

fn shape_of(node: &Node) -> &'static str {
    match node.input_type.as_deref() {
        Some("date") => "a date is written 2031-04-09",
        Some("time") => "a time is written 14:30",
        Some("datetime-local") => "date and time are written 2031-04-09T14:30",
        Some("month") => "a month is written 2031-04",
        Some("week") => "a week is written 2031-W15",
        Some("color") => "a colour is written #33aa77",
        _ => "its kind takes another form",
    }
}

/// Equal up to what white space in a field can mean.
fn same(seen: Option<&str>, wanted: &str) -> bool {
    seen.is_some_and(|seen| seen == wanted || fold(seen) == fold(wanted))
}

fn shows(seen: &str, text: &str) -> bool {
    same(Some(seen), text) || formatted(seen, text)
}

/// A field that tells its length alone is never typed into twice; too few characters are told.
fn unread(length: Option<usize>, text: &str) -> Option<Unfit> {
    // A page may group digits or leave separators out.
    let least = text.chars().filter(|c| c.is_alphanumeric()).count();
    let holds = length?;
    (holds < least || holds == 0 && !text.is_empty()).then(|| Unfit::WrongKind {
        why: format!(
            "it was filled with {} characters, but holds {holds} afterwards",
            text.chars().count()
        ),
    })
}

/// A page may write capitals and typographic quotes, and group what has digits in it: letters and digits
/// must be the same ones in order, with the same sign, or the amount the same one.
fn formatted(seen: &str, wanted: &str) -> bool {
    const SEPARATORS: &str = ".,'-/():_·\u{2013}\u{2212}";
    let letters = |text: &str, drop: &dyn Fn(char) -> bool| -> String {
        let kept = text.chars().filter(|c| !drop(*c)).map(|c| match c {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201C}' | '\u{201D}' => '"',
            '\u{2013}' | '\u{2014}' | '\u{2212}' => '-',
            c => c,
        });
        kept.flat_map(char::to_lowercase).collect()
    };
    let blanks = |drop: char| drop.is_whitespace();
    let grouping = |drop: char| drop.is_whitespace() || SEPARATORS.contains(drop);
    let shown = |drop: &dyn Fn(char) -> bool| {
        let wanted = letters(wanted, drop);
        !wanted.is_empty() && letters(seen, drop) == wanted
    };
    let negative = |text: &str| text.trim_start().starts_with(['-', '\u{2212}']);
    let has_digits = wanted.chars().any(|c| c.is_ascii_digit());
    let grouped = has_digits
        && !wanted.contains('\n')
        && negative(seen) == negative(wanted)
        && shown(&grouping);
    shown(&blanks) || grouped || amount(wanted).is_some_and(|wanted| amount(seen) == Some(wanted))
}

/// A number with an optional currency sign or code and digits grouped in threes: `2500`, `$2,500.00`,
/// `2.500,00 €`. Nothing where `1,234` could be either.
fn amount(text: &str) -> Option<Amount> {
    let text = fold(text);
    let is_digit = |c: char| c.is_ascii_digit();
    let (start, end) = (text.find(is_digit)?, text.rfind(is_digit)?);
    let (before, number, after) = (&text[..start], &text[start..=end], &text[end + 1..]);
    let sign = |c: char| matches!(c, '-' | '\u{2212}');
    let currency = |c: char| c.is_alphabetic() || !c.is_ascii() || c == '$';
    let around = |text: &str| {
        let word: Vec<char> = text
            .chars()
            .filter(|c| !c.is_whitespace() && !sign(*c))
            .collect();
        word.len() <= 3 && word.into_iter().all(currency)
    };
    if !around(before) || !around(after) || before.contains(sign) && after.contains(sign) {
        return None;
    }
    let separators: Vec<char> = number.chars().filter(|c| !is_digit(*c)).collect();
    let (whole, cents) = match separators.as_slice() {
        [] => (number, ""),
        [.., point @ ('.' | ',')] if separators.iter().filter(|c| *c == point).count() == 1 => {
            let (whole, cents) = number.rsplit_once(*point)?;
            // Three digits after an only separator may be cents of nothing or a group.
            if separators.len() == 1 && cents.len() == 3 {
                return None;
            }
            (whole, cents)
        }
        _ => (number, ""),
    };
    let groups: Vec<&str> = whole.split(|c| !is_digit(c)).collect();
    let grouped = groups[0].len() <= 3 && groups[1..].iter().all(|g| g.len() == 3);
    let one_kind = whole
        .chars()
        .filter(|c| !is_digit(*c))
        .collect::<std::collections::BTreeSet<_>>();
    if groups.len() > 1 && (!grouped || one_kind.len() > 1) {
        return None;
    }
    Some(Amount {
        negative: before.contains(sign) || after.contains(sign),
        whole: groups.concat(),
        cents: cents.trim_end_matches('0').to_owned(),
    })
}

#[derive(Debug, PartialEq)]
struct Amount {
    negative: bool,
    whole: String,
    cents: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_may_make_of_a_text() {
        for (seen, wanted) in [
            ("ADA LOVELACE", "Ada Lovelace"),
            ("it\u{2019}s", "it's"),
            ("4111 1111 1111 1111", "4111111111111111"),
            ("(039) 555-0123", "0395550123"),
            ("DE-12/7", "de127"),
            ("-5.00", "-5"),
        ] {
            assert!(formatted(seen, wanted), "{wanted} shown as {seen}");
        }
        for (seen, wanted) in [
            ("5", "-5"),
            ("-5", "5"),
            ("a b", "a != b"),
            ("1 2", "1 < 2"),
            ("39 55", "+39 55"),
            ("{\n  a1;\n}\n}", "{\n  a1;\n}"),
            ("", "x"),
        ] {
            assert!(!formatted(seen, wanted), "{wanted} shown as {seen}");
        }
    }

    #[test]
    fn a_field_that_tells_its_length_alone() {
        assert_eq!(unread(Some(4), "abcd"), None);
        assert_eq!(unread(Some(19), "4111111111111111"), None);
        assert_eq!(unread(Some(9), "123-45-6789"), None);
        assert_eq!(unread(None, "rich"), None);
        assert!(unread(Some(3), "abcd").is_some());
        assert!(unread(Some(0), "--").is_some());
    }

    #[test]
    fn a_tab_in_a_text_is_no_key() {
        assert_eq!(
            parts("a:\n\tb\n"),
            [Part::Keys("a:\n"), Part::Inserted("\t"), Part::Keys("b\n")]
        );
        assert_eq!(parts("\t\tx")[0], Part::Inserted("\t\t"));
        assert!(parts("").is_empty());
    }

    #[test]
    fn a_formatted_value_is_the_same_value_and_an_appended_one_is_not() {
        assert!(formatted("1,025 kg", "1025kg"));
        assert!(!formatted("1025", "25"));
        assert!(!formatted("", "x"));
    }

    #[test]
    fn an_amount_is_the_same_with_currency_and_cents() {
        for (seen, wanted) in [
            ("$2,500.00", "2500"),
            ("2.500,00 €", "2500"),
            ("EUR 1 234 567,50", "1234567.5"),
            ("-$3.00", "-3"),
            ("1,025 kg", "1025kg"),
            ("1,234", "1234"),
        ] {
            assert!(formatted(seen, wanted), "{seen} is {wanted}");
        }
        for (seen, wanted) in [
            ("$2,500.00", "25"),
            ("$250,000", "2500"),
            ("3.00", "-3"),
            ("$2,500.50", "2500"),
            ("2500 apples and 00", "2500"),
        ] {
            assert!(!formatted(seen, wanted), "{seen} is not {wanted}");
        }
    }
}
