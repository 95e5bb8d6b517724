use super::*;
use proptest::prelude::*;

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned()).expect("test value")
}

fn with(values: &[(&str, &str, Kind)]) -> Scrubber {
    let scrubber = Scrubber::new();
    for (label, value, kind) in values {
        let (name, field) = label.split_once('.').expect("name.field");
        scrubber.register(name, field, &secret(value), *kind);
    }
    scrubber
}

#[test]
fn r4_placeholders_do_not_tell_the_length() {
    let a = with(&[("site.password", "TILLER-3030", Kind::Password)]);
    let b = with(&[("site.password", "a much longer pass phrase", Kind::Password)]);
    assert_eq!(a.clean("typed TILLER-3030."), "typed ‹site.password›.");
    assert_eq!(
        b.clean("typed a much longer pass phrase."),
        "typed ‹site.password›."
    );
}

#[test]
fn r5_user_names_show_three_characters_at_most() {
    assert_eq!(hide_user_name("alice@x.test"), "ali****");
    assert_eq!(hide_user_name("alice-at-a-much-longer-host"), "ali****");
    assert_eq!(hide_user_name("alice"), "****");
    assert_eq!(hide_user_name("éééééééé"), "ééé****");
}

#[test]
fn case_068_encoded_echoes_are_replaced() {
    let value = "p&s<w>\"o'r\\d/+= 9";
    let scrubber = with(&[("site.password", value, Kind::Password)]);
    for form in forms::forms(value, Kind::Password) {
        if form.remedy == forms::Remedy::Redact {
            let text = format!("before {} after", String::from_utf8_lossy(&form.bytes));
            let clean = scrubber.clean(&text);
            assert_eq!(clean, "before ‹site.password› after", "{}", form.name);
        }
    }
}

#[test]
fn case_068_half_encoded_echoes_are_replaced() {
    let scrubber = with(&[("site.password", "hunter/two+22", Kind::Password)]);
    for text in [
        "%68unter/two%2b22",
        "hunter&sol;two+22",
        "h\\u0075nter/two+22",
    ] {
        assert_eq!(scrubber.clean(text), "‹site.password›", "{text}");
    }
}

#[test]
fn case_069_split_and_recased_echoes_are_replaced() {
    let scrubber = with(&[("site.password", "hunter22tide", Kind::Password)]);
    for text in [
        "h u n t e r 2 2 t i d e",
        "HUNTER22TIDE",
        "Hunter22\nTide",
        "hun\u{200b}ter22\u{ad}tide",
        "h\u{1b}[1munter22tide",
    ] {
        assert_eq!(scrubber.clean(text), "‹site.password›", "{text:?}");
    }
    let letters: Vec<String> = "hunter22tide".chars().map(String::from).collect();
    let pieces = ["Welcome".to_owned()]
        .into_iter()
        .chain(letters)
        .chain(["Next".into()]);
    let pieces: Vec<String> = pieces.collect();
    let clean = scrubber.clean_pieces(pieces.iter().map(String::as_str));
    assert_eq!(clean.len(), pieces.len());
    assert_eq!(clean[0], "Welcome");
    assert_eq!(clean[1], "‹site.password›");
    assert!(clean[2..13].iter().all(|c| c.is_empty()));
    assert_eq!(clean[13], "Next");
}

#[test]
fn case_071_short_values_are_left_to_their_own_field_and_warned_about() {
    let scrubber = with(&[("harbour.pin", "47", Kind::Password)]);
    assert_eq!(scrubber.clean("Berth 47, 147 EUR"), "Berth 47, 147 EUR");
    assert_eq!(scrubber.whole_value("47").expect("known"), "‹harbour.pin›");
    assert!(scrubber.whole_value("147").is_none());
    let warnings = scrubber.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("harbour.pin") && !warnings[0].contains("47"));
}

#[test]
fn numbers_of_our_own_are_no_leaks() {
    let scrubber = with(&[
        ("site.pin", "2026", Kind::Password),
        ("site.code", "492039", Kind::Otp),
    ]);
    assert_eq!(
        scrubber.clean("PIN 2026, code 492039"),
        "PIN ‹site.pin›, code ‹site.code›"
    );
    assert_eq!(scrubber.warnings().len(), 1);
    assert!(!scrubber.contains(r#"{"time":"2026-01-01","at_ms":492039,"seq": 492039 }"#));
    assert!(scrubber.contains(r#"{"text":"code 492039"}"#));
    assert!(scrubber.contains(r#"{"text":"{\"code\":492039,"}"#));
    assert!(scrubber.contains("Code: 492039, valid for 30 s"));
}

#[test]
fn short_values_and_user_names_match_whole_words_only() {
    let scrubber = with(&[
        ("site.password", "tide", Kind::Password),
        ("site.username", "carpenter", Kind::Username),
    ]);
    assert_eq!(
        scrubber.clean("tidewater, tide; Carpenter's carpenters"),
        "tidewater, ‹site.password›; ‹site.username›'s carpenters"
    );
}

#[test]
fn case_069_the_border_of_an_element_is_a_border_of_the_word() {
    let scrubber = with(&[
        ("site.password", "Qy7!x2", Kind::Password),
        ("site.username", "carpenter", Kind::Username),
        ("site.code", "492039", Kind::Otp),
    ]);
    for (text, clean) in [
        ("Word: Qy7!x2\u{2060}copied", "Word: ‹site.password›copied"),
        (
            "Hi\u{2060}carpenter\u{2060}Sign out",
            "Hi‹site.username›Sign out",
        ),
        ("aQ\u{2060}y7!x\u{2060}2", "aQy7!x2"),
        (
            "is\u{2060}Q\u{2060}y7!x\u{2060}2\u{2060}ok",
            "is‹site.password›ok",
        ),
        ("tok\u{2060}492039\u{2060}x", "tok‹site.code›x"),
        ("carpenters\u{2060}here", "carpentershere"),
    ] {
        assert_eq!(scrubber.clean(text), clean, "{text:?}");
    }
}

#[test]
fn a_user_name_that_is_an_address_is_no_part_of_a_word() {
    let scrubber = with(&[("site.username", "anna@mail.test", Kind::Username)]);
    assert_eq!(
        scrubber.clean("Hianna@mail.testSign out"),
        "Hi‹site.username›Sign out"
    );
}

#[test]
fn case_068_a_value_read_backwards_is_replaced_under_any_escape() {
    let scrubber = with(&[("site.password", "Zk7!qWv&\"pT<x9/Rm'e", Kind::Password)]);
    for text in [
        "e'mR/9x<Tp\"&vWq!7kZ",
        "e'mR/9x%3CTp%22&vWq!7kZ",
        "e'mR/9x<Tp\\\"&vWq!7kZ",
        "e&#39;mR/9x&lt;Tp&quot;&amp;vWq!7kZ",
        "E'MR/9X<TP\"&VWQ!7KZ",
    ] {
        assert_eq!(scrubber.clean(text), "‹site.password›", "{text}");
    }
}

#[test]
fn case_071_a_user_name_in_a_name_of_our_own_stays() {
    let scrubber = with(&[
        ("site.username", "admin", Kind::Username),
        ("site.password", "TILLER-3030", Kind::Password),
    ]);
    for name in ["login-admin", "admin", "TILLER-3030-admin", "shop"] {
        scrubber.keep(name);
    }
    assert_eq!(
        scrubber.clean("login-admin by admin"),
        "login-admin by ‹site.username›"
    );
    assert!(!scrubber.contains("runs/login-admin/frames"));
    assert!(scrubber.contains("TILLER-3030-admin"));
    assert!(scrubber.contains("runs/admin"));
    // A value that holds a kept name is still one value.
    let scrubber = with(&[
        ("site.username", "admin", Kind::Username),
        ("site.password", "my-login-admin-77!", Kind::Password),
    ]);
    scrubber.keep("login-admin");
    assert_eq!(scrubber.clean("my-login-admin-77!"), "‹site.password›");
}

#[test]
fn r18_user_names_are_placeholders_on_the_page() {
    let scrubber = with(&[("site.username", "alice@x.test", Kind::Username)]);
    assert_eq!(
        scrubber.clean("Signed in as alice@x.test."),
        "Signed in as ‹site.username›."
    );
    assert_eq!(
        scrubber.clean("mailto:alice%40x.test"),
        "mailto:‹site.username›"
    );
}

#[test]
fn one_time_codes_are_found_in_groups() {
    let scrubber = with(&[("site.totp", "492039", Kind::Otp)]);
    assert_eq!(
        scrubber.clean("Code 492 039 or 492-039, not 14920391"),
        "Code ‹site.totp› or ‹site.totp›, not 14920391"
    );
}

#[test]
fn overlapping_values_leave_no_piece() {
    let scrubber = with(&[
        ("a.password", "abcdefghij", Kind::Password),
        ("b.password", "ghijklmnopqrst", Kind::Password),
        ("c.password", "cdefghij", Kind::Password),
    ]);
    assert_eq!(scrubber.clean("<abcdefghijklmnopqrst>"), "<‹b.password›>");
    assert_eq!(scrubber.clean("<cdefghij>"), "<‹c.password›>");
}

#[test]
fn a_value_equal_to_a_word_of_a_placeholder_leaves_placeholders_alone() {
    let scrubber = with(&[("site.password", "password", Kind::Password)]);
    let clean = scrubber.clean("password: ‹site.password›");
    assert_eq!(clean, "‹site.password›: ‹site.password›");
    assert_eq!(scrubber.clean(&clean), clean.as_str());
    assert!(!scrubber.contains(&clean));
}

#[test]
fn the_same_value_keeps_its_first_name() {
    let scrubber = with(&[
        ("a.password", "TILLER-3030", Kind::Password),
        ("b.password", "TILLER-3030", Kind::Password),
    ]);
    assert_eq!(scrubber.clean("TILLER-3030"), "‹a.password›");
}

#[test]
fn masks_and_values_merge() {
    let scrubber = with(&[("site.password", "TILLER-3030", Kind::Password)]);
    scrubber.mask(Pattern::Literal("Example Workspace".into()), "workspace");
    scrubber.mask(
        Pattern::Matching(regex::Regex::new(r"\d+ min").expect("pattern")),
        "age",
    );
    scrubber.mask(Pattern::Literal(String::new()), "nothing");
    assert_eq!(
        scrubber.clean("Example Workspace, 12 min, TILLER-3030"),
        "‹workspace›, ‹age›, ‹site.password›"
    );
    assert!(
        !scrubber.contains("Example Workspace"),
        "a mask is no secret"
    );
}

#[test]
fn egress_finds_forms_that_are_no_text() {
    let scrubber = with(&[("site.password", "TILLER-3030", Kind::Password)]);
    let utf16: Vec<u8> = "TILLER-3030"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert!(scrubber.contains_bytes(&utf16));
    assert!(scrubber.contains("0303-RELLIT"));
    assert_eq!(
        scrubber.leaks(b"0303-RELLIT tiller-3030"),
        ["site.password"]
    );
    assert!(scrubber.contains_bytes(b"\xff\xfe tiller-3030 \xff"));
    assert!(!scrubber.contains("TILLER-303"));
}

#[test]
fn r26_keys_are_registered_like_any_other_secret() {
    let scrubber = Scrubber::new();
    scrubber.register_key("model-key", &secret("sk-test-0123456789"));
    assert_eq!(
        scrubber.clone().clean("Bearer sk-test-0123456789"),
        "Bearer ‹model-key›"
    );
}

/// Secrets over few letters, so that they overlap; text made of them and of digits.
fn sets() -> impl Strategy<Value = (Vec<String>, Vec<(usize, String)>)> {
    let secrets = prop::collection::vec("[abc]{8,14}", 1..5);
    let text = prop::collection::vec((0..5usize, "[ 0-9.,]{0,3}"), 0..8);
    (secrets, text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_cleaned_without_a_panic_and_cut_at_characters(
        values in prop::collection::vec("\\PC{1,12}", 1..4),
        text in "(\\PC|[%&\\\\;u0-9a-f\\x1b\\[])*",
    ) {
        let scrubber = Scrubber::new();
        for (n, value) in values.iter().enumerate() {
            scrubber.register(&format!("s{n}"), "x", &secret(value), Kind::Password);
        }
        let page = format!("{text}{}{text}", values[0]);
        let once = scrubber.clean(&page);
        let twice = scrubber.clean(&once);
        prop_assert_eq!(twice.as_str(), once.as_str());
        if values[0].len() >= forms::LONG && values[0].chars().count() >= SHORTEST {
            prop_assert!(!once.contains(&values[0]));
        }
        let pieces: Vec<&str> = page.split_inclusive(' ').collect();
        prop_assert_eq!(scrubber.clean_pieces(pieces.iter().copied()).len(), pieces.len());
    }

    #[test]
    fn no_window_of_a_secret_survives((secrets, text) in sets()) {
        let scrubber = Scrubber::new();
        for (n, value) in secrets.iter().enumerate() {
            scrubber.register(&format!("s{n}"), "x", &secret(value), Kind::Password);
        }
        let mut page = String::new();
        for (n, between) in &text {
            page.push_str(&secrets[n % secrets.len()]);
            page.push_str(between);
        }
        let clean = scrubber.clean(&page);
        for value in &secrets {
            for window in value.as_bytes().windows(6) {
                let window = std::str::from_utf8(window).expect("ASCII");
                prop_assert!(!clean.contains(window), "{window} in {clean} of {page}");
            }
        }
    }

    #[test]
    fn cleaning_twice_changes_nothing(
        values in prop::collection::vec("[a-zé%&;\\\\ <x20]{4,12}", 1..4),
        text in prop::collection::vec((0..4usize, "[a-zA-Z%&;\\\\ 0-9é‹›.]{0,6}"), 0..10),
    ) {
        let scrubber = Scrubber::new();
        for (n, value) in values.iter().enumerate() {
            let kind = if n % 2 == 0 { Kind::Password } else { Kind::Username };
            scrubber.register(&format!("s{n}"), "x", &secret(value), kind);
        }
        let mut page = String::new();
        for (n, between) in &text {
            if let Some(value) = values.get(*n) {
                page.push_str(value);
            }
            page.push_str(between);
        }
        let once = scrubber.clean(&page);
        let twice = scrubber.clean(&once);
        prop_assert_eq!(once.as_str(), twice.as_str());
        prop_assert!(scrubber.find(&once).is_empty());
    }
}

#[test]
fn a_page_made_of_short_values_is_cleaned_in_reasonable_time() {
    let scrubber = with(&[
        ("site.pin", "tide", Kind::Password),
        ("site.password", "hunter22tide", Kind::Password),
    ]);
    let page = "hunter22tidetide xtidex tide ".repeat(40_000);
    let clean = scrubber.clean(&page);
    assert!(clean.starts_with("‹site.password›‹site.pin› xtidex ‹site.pin› "));
}

/// In the page texts are cut for length before anything else sees them.
#[test]
fn r2_of_a_value_cut_for_length_no_beginning_stays() {
    let scrubber = Scrubber::new();
    let value = Secret::new("zorgly-blimp-9042".to_owned()).expect("a value");
    scrubber.register("shop", "password", &value, Kind::Password);
    for (given, cleaned) in [
        (
            "dialog \"Your code zorgly-blimp-9…\"",
            "dialog \"Your code ‹shop.password›…\"",
        ),
        ("zorgly-… and more", "‹shop.password›… and more"),
        // Too little to tell anything.
        ("zorgly…", "zorgly…"),
        ("blimp…", "blimp…"),
        ("zorgly-blimp-9042…", "‹shop.password›…"),
    ] {
        assert_eq!(&*scrubber.clean(given), cleaned);
    }
}
