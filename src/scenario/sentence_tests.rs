//! Sentences as people write them.

use super::*;
use crate::text::Span;

fn acts(text: &str) -> Vec<Act> {
    acts_in("en", text)
}

fn acts_in(language: &str, text: &str) -> Vec<Act> {
    let lexicons = Lexicons::default();
    let parts = sentence::parse(
        text,
        lexicons.get(language).unwrap(),
        &["code-host-user".to_string()],
        Span::default(),
    );
    parts
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .into_iter()
        .map(|p| p.act)
        .collect()
}

fn one(text: &str) -> Act {
    let mut acts = acts(text);
    assert_eq!(acts.len(), 1, "{text}: {acts:?}");
    acts.remove(0)
}

/// `verb target [role] = value`
fn phrase(act: &Act) -> String {
    match act {
        Act::Sentence(p) => {
            let role = p
                .role
                .as_ref()
                .map(|r| format!(" [{r}]"))
                .unwrap_or_default();
            let value = match &p.value {
                Some(Value::Text(t)) => format!(" = {t}"),
                Some(Value::Credential { name, field }) => format!(" = <{name}.{field}>"),
                None => String::new(),
            };
            format!("{:?} {}{role}{value}", p.verb, p.target)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn r36_phrases_are_reduced_to_one_verb_with_target_and_value() {
    for (text, found) in [
        ("Click the Sign in button.", "Click Sign in [button]"),
        ("Click Sign in", "Click Sign in"),
        ("click on link Basket", "Click Basket [link]"),
        ("Open the repository demo", "Click repository demo"),
        ("Go to Settings", "Click Settings"),
        (
            "Type hello into the Search box",
            "Fill Search [textbox] = hello",
        ),
        (
            "Type go into it into the Search box",
            "Fill Search [textbox] = go into it",
        ),
        ("Fill Passenger with Ada", "Fill Passenger = Ada"),
        (
            "Fill in Passenger with Ada with bicycle",
            "Fill Passenger = Ada with bicycle",
        ),
        (
            "Fill Password with credential code-host-user.password",
            "Fill Password = <code-host-user.password>",
        ),
        ("Select Salt in Cargo", "Select Cargo = Salt"),
        ("Choose Barge as the carrier", "Select carrier = Barge"),
        ("Tick With bicycle", "Check With bicycle"),
        ("Untick With bicycle", "Uncheck With bicycle"),
        ("Press Enter in Search", "Press Search = Enter"),
        ("Press Save", "Click Save"),
        ("Wait for the order list", "Wait order [list]"),
        ("Open the repository $(repo)", "Click repository $(repo)"),
        ("Click Add row", "Click Add row"),
    ] {
        assert_eq!(phrase(&one(text)), found, "{text}");
    }
}

/// The place a sentence names narrows its target; words in quotation marks never do.
#[test]
fn a_place_in_a_sentence_narrows() {
    let lexicons = Lexicons::default();
    for (language, text, said, place) in [
        (
            "en",
            "Click Remove in the row Anchor",
            "Click Remove",
            "row \"Anchor\"",
        ),
        (
            "en",
            "Click the Remove button of the Anchor row",
            "Click Remove [button]",
            "row \"Anchor\"",
        ),
        (
            "en",
            "Click Remove in the row of Anchor",
            "Click Remove",
            "row \"Anchor\"",
        ),
        (
            "it",
            "Clicca Rimuovi nella riga di Anchor",
            "Click Rimuovi",
            "row \"Anchor\"",
        ),
        (
            "en",
            "Tick Express in the dialog \"New order\"",
            "Check Express",
            "dialog \"New order\"",
        ),
        (
            "en",
            "Type 12 into Quantity in the row Anchor",
            "Fill Quantity = 12",
            "row \"Anchor\"",
        ),
        (
            "en",
            "Enter 12 in Quantity in the row Anchor",
            "Fill Quantity = 12",
            "row \"Anchor\"",
        ),
        (
            "en",
            "Select Red in Colour in the row Anchor",
            "Select Colour = Red",
            "row \"Anchor\"",
        ),
        ("en", "Click Log in", "Click Log in", ""),
        (
            "en",
            "Click Save in the cloud",
            "Click Save in the cloud",
            "",
        ),
        (
            "it",
            "Clicca Rimuovi nella riga Ancora",
            "Click Rimuovi",
            "row \"Ancora\"",
        ),
    ] {
        let lexicon = lexicons.get(language).unwrap();
        let parts = sentence::parse(text, lexicon, &[], Span::default()).unwrap();
        assert_eq!(phrase(&parts[0].act), said, "{text}");
        let within: Vec<String> = parts[0].within.iter().map(|t| t.to_string()).collect();
        assert_eq!(within.concat(), place, "{text}");
    }
    let parts = sentence::parse(
        "Click \"Remove in the row Anchor\"",
        lexicons.english(),
        &[],
        Span::default(),
    );
    assert_eq!(parts.unwrap()[0].within, []);
}

/// Words mean what the verb can do: a box is ticked or filled, a field is cleared, keys have names.
#[test]
fn words_mean_what_the_verb_can_do() {
    let found = |language: &str, text: &str| acts_in(language, text).remove(0);
    for (language, text, said) in [
        ("en", "Tick the Notify box", "Check Notify"),
        ("it", "Spunta la casella Notify", "Check Notify"),
        ("en", "Untick textbox Aa", "Uncheck Aa [textbox]"),
        ("en", "Clear the From field", "Fill From [textbox] = "),
        ("en", "Clear With bicycle", "Uncheck With bicycle"),
        ("en", "Empty Destination", "Fill Destination = "),
        ("it", "Svuota Da", "Fill Da = "),
        ("it", "Svuota il campo Da", "Fill Da [textbox] = "),
        (
            "it",
            "Premi Invio nel campo Città",
            "Press Città [textbox] = Enter",
        ),
        ("en", "Press Return in Search", "Press Search = Enter"),
        ("en", "Wait for Ready", "Wait Ready"),
    ] {
        assert_eq!(phrase(&found(language, text)), said, "{text}");
    }
    assert_eq!(
        found("it", "Premi Freccia giù"),
        Act::Press {
            keys: "ArrowDown".into(),
            target: None
        }
    );
}

#[test]
fn a_preposition_that_stands_twice_leaves_the_choice_to_the_page() {
    let Act::Sentence(phrase) = one("Enter 12 in Destination in port") else {
        panic!("a phrase");
    };
    assert_eq!(phrase.target, "port");
    assert_eq!(phrase.value, Some(Value::Text("12 in Destination".into())));
    assert_eq!(
        phrase.others,
        [("Destination in port".into(), Value::Text("12".into()))]
    );
}

#[test]
fn explicit_sentences_are_plain_acts() {
    for (text, line) in [
        ("Click the \"Sign in\" button", "click: button \"Sign in\""),
        (
            "Click the button called “Sign in”.",
            "click: button \"Sign in\"",
        ),
        ("Click 'Sign in'", "click: Sign in"),
        ("Go to /settings", "goto: /settings"),
        ("Open http://code.test/", "goto: http://code.test/"),
        ("Sign in as the test user", "login: code-host-user"),
        ("Log in with code-host-user", "login: code-host-user"),
        ("Press Control+A", "press: Control+A"),
        ("Wait until Loading is gone", "wait: { gone: Loading }"),
        ("Wait 2 seconds", "wait: { seconds: 2 }"),
        ("Check that the page says Saved", "expect: { see: Saved }"),
        (
            "Make sure the page does not say \"Error 5\"",
            "expect: { not_see: Error 5 }",
        ),
        ("Scroll down", "scroll: down"),
        ("Drag Card 1 to Done", "{ drag: Card 1, to: Done }"),
        (
            "Upload fixtures/a.pdf to Attachment",
            "{ upload: fixtures/a.pdf, in: Attachment }",
        ),
    ] {
        assert_eq!(
            Step::bare(one(text), Span::default()).to_string(),
            line,
            "{text}"
        );
    }
}

#[test]
fn r97_two_actions_in_one_sentence_are_split() {
    let found: Vec<_> = acts("Fill Name with Ada and click Save")
        .iter()
        .map(phrase)
        .collect();
    assert_eq!(found, ["Fill Name = Ada", "Click Save"]);
    let found: Vec<_> = acts("Type Ada into Name, tick Express and then press the Save button")
        .iter()
        .map(phrase)
        .collect();
    assert_eq!(
        found,
        ["Fill Name = Ada", "Check Express", "Click Save [button]"]
    );
    assert_eq!(acts("Click \"Save and click Close\"").len(), 1);
    assert_eq!(phrase(&one("Click Save and close")), "Click Save and close");
    assert_eq!(
        phrase(&one("Fill Pets with cats and dogs")),
        "Fill Pets = cats and dogs"
    );
}

#[test]
fn r15_italian_is_data() {
    let found = |text: &str| acts_in("it", text);
    assert_eq!(
        phrase(&found("Clicca sul pulsante Accedi")[0]),
        "Click Accedi [button]"
    );
    assert_eq!(
        phrase(&found("Scrivi ciao nella casella di ricerca Cerca")[0]),
        "Fill Cerca [searchbox] = ciao"
    );
    assert_eq!(
        phrase(&found("Scegli Sale nell'elenco Carico")[0]),
        "Select Carico [list] = Sale"
    );
    assert_eq!(
        phrase(&found("Apri l'archivio demo")[0]),
        "Click archivio demo"
    );
    assert_eq!(
        found("Accedi come utente di prova"),
        [Act::Login("code-host-user".into())]
    );
    let two: Vec<_> = found("Riempi Nome con Ada e poi clicca Salva")
        .iter()
        .map(phrase)
        .collect();
    assert_eq!(two, ["Fill Nome = Ada", "Click Salva"]);
}

#[test]
fn r15_a_suite_adds_a_language_without_code() {
    let mut lexicons = Lexicons::default();
    let text = "articles: [der, die, das]\nroles: { Knopf: button }\nforms: { click: [\"klicke auf {target}\"] }\n";
    let source = std::sync::Arc::new(crate::text::Source {
        path: "lexicon/de.yaml".into(),
        text: text.into(),
    });
    assert_eq!(lexicons.add(&source, "de"), []);
    let parts = sentence::parse(
        "Klicke auf den Knopf „Sichern“",
        lexicons.get("de").unwrap(),
        &[],
        Span::default(),
    )
    .unwrap();
    assert!(matches!(&parts[0].act, Act::Sentence(p) if p.verb == Verb::Click));
    let parts = sentence::parse(
        "Klicke auf Knopf „Sichern“",
        lexicons.get("de").unwrap(),
        &[],
        Span::default(),
    )
    .unwrap();
    assert_eq!(
        Step::bare(parts[0].act.clone(), Span::default()).to_string(),
        "click: button \"Sichern\""
    );
    let bad = std::sync::Arc::new(crate::text::Source {
        path: "lexicon/de.yaml".into(),
        text: "forms: { clik: [x], click: [\"x {y}\", \"tippe\"] }\nrols: {}\n".into(),
    });
    let messages: Vec<_> = lexicons
        .add(&bad, "de")
        .into_iter()
        .map(|p| p.message)
        .collect();
    assert_eq!(
        messages,
        [
            "unknown key `clik`",
            "unknown slot `{y}`",
            "`click` needs the slot `{target}`",
            "unknown key `rols`"
        ]
    );
}

#[test]
fn r34_a_sentence_without_a_known_verb_is_refused() {
    let lexicons = Lexicons::default();
    let fail = |text: &str, credentials: &[String]| {
        sentence::parse(text, lexicons.english(), credentials, Span::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        fail("Evaluate document.cookie", &[]),
        "`Evaluate document.cookie` begins with no verb I know"
    );
    assert_eq!(
        fail("Sign in with Google", &[]),
        "`Sign in with Google` doesn't say which credential"
    );
    let known = ["code-host-user".to_string()];
    assert_eq!(
        fail("Sign in as the test user and juggle the README", &known),
        "`juggle the README` begins with no verb I know"
    );
    assert_eq!(
        fail("Click \"Save", &[]),
        "a quotation mark of the sentence is not closed"
    );
    assert_eq!(
        fail("Log in with a", &["b".into(), "c".into()]),
        "`Log in with a` doesn't say which credential"
    );
}
