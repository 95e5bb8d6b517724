use proptest::prelude::*;
use url::Url;

use crate::policy::Glob;

fn url(pattern: &str, address: &str) -> bool {
    Glob::for_url(pattern).matches_url(&Url::parse(address).unwrap())
}

#[test]
fn one_star_stays_in_its_segment_and_two_cross() {
    assert!(url("http://code.test/*/demo", "http://code.test/ann/demo"));
    assert!(!url("http://code.test/*/demo", "http://code.test/a/b/demo"));
    assert!(url("http://code.test/**/demo", "http://code.test/a/b/demo"));
    assert!(url("http://code.test/**", "http://code.test/"));
    assert!(!url("http://code.test/*", "http://code.test/a/"));
    assert!(url("http://code.test/a*c", "http://code.test/abbc"));
    assert!(url("http://code.test/*", "http://code.test/"));
}

#[test]
fn query_and_fragment_count_only_when_the_pattern_names_them() {
    assert!(url("http://code.test/s", "http://code.test/s?q=1#top"));
    assert!(url("http://code.test/s?q=*", "http://code.test/s?q=1#top"));
    assert!(!url("http://code.test/s?q=2", "http://code.test/s?q=1"));
    assert!(url("http://code.test/s#top", "http://code.test/s?q=1#top"));
    assert!(!url("http://code.test/s?*", "http://code.test/s"));
}

#[test]
fn case_140_everything_else_is_literal() {
    assert!(!url("http://code.test/a.c", "http://code.test/abc"));
    assert!(url(
        "http://code.test/[id]/(x)+",
        "http://code.test/[id]/(x)+"
    ));
    assert!(!url("http://code.test/{a,b}", "http://code.test/a"));
    assert!(Glob::new("Order \\d+").matches("Order \\d+"));
    assert!(!Glob::new("Order ?").matches("Order 7"));
    assert!(Glob::new("Order * – *").matches("Order 7 – Shop"));
    assert!(!Glob::new("Order").matches("Orders"));
}

#[test]
fn patterns_are_brought_to_the_form_browsers_report() {
    assert!(url("HTTP://Code.Test:80/x", "http://code.test/x"));
    assert!(url(
        "https://bücher.example/straße/*",
        "https://bücher.example/straße/1"
    ));
    assert!(url("http://code.test/a b", "http://code.test/a b"));
    assert!(url("http://code.test", "http://code.test"));
    assert!(url("/orders/*", "https://any.example/orders/7?x=1"));
    assert!(!url("/orders/*", "https://any.example/a/orders/7"));
    assert!(!url("http://code.test/x", "http://code.test.evil.test/x"));
}

proptest! {
    #[test]
    fn a_text_without_stars_matches_itself_alone(text in r"[^*\\]{0,30}", other in r"[^*\\]{0,30}") {
        prop_assert!(Glob::new(&text).matches(&text));
        prop_assert_eq!(Glob::new(&text).matches(&other), text == other);
    }

    #[test]
    fn two_stars_match_what_one_star_matches(text in "[a/]{0,12}", pattern in "[a/*]{0,6}") {
        let wide = pattern.replace('*', "**");
        if Glob::new(&pattern).matches(&text) {
            prop_assert!(Glob::new(&wide).matches(&text));
        }
    }
}
