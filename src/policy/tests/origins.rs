use url::Url;

use crate::policy::Origin;

#[test]
fn r19_only_the_exact_origin_holds_a_credential() {
    let origin = Origin::parse("https://shop.example").unwrap();
    let holds = |address: &str| origin.holds(&Url::parse(address).unwrap());
    assert!(holds("https://shop.example/login?next=/"));
    assert!(holds("https://shop.example:443/"));
    for address in [
        "https://www.shop.example/",
        "https://example/",
        "https://evilshop.example/",
        "http://shop.example/",
        "https://shop.example:8443/",
        "https://shop.example./",
        "https://user@shop.example/",
        "https://shop.example@evil.test/",
        "https://shоp.example/",
        "wss://shop.example/",
        "about:blank",
        "data:text/html,x",
        "blob:https://shop.example/1",
    ] {
        assert!(!holds(address), "{address}");
    }
}

#[test]
fn r19_look_alike_spellings_of_an_origin_are_refused_with_the_right_one() {
    for (written, right) in [
        ("https://shop.example/", "https://shop.example"),
        ("https://SHOP.example", "https://shop.example"),
        ("https://shop.example:443", "https://shop.example"),
        ("https://shop.example/login", "https://shop.example"),
        ("https://shop.example?x", "https://shop.example"),
        ("https://shop.example.", "https://shop.example"),
        ("https://bob:pw@shop.example", "https://shop.example"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        (" https://shop.example", "https://shop.example"),
        ("http://2130706433:8080", "http://127.0.0.1:8080"),
    ] {
        let error = Origin::parse(written).expect_err(written).to_string();
        assert!(error.contains(&format!("`{right}`")), "{written}: {error}");
        assert!(!error.contains("bob"), "{error}");
    }
    for written in [
        "shop.example",
        "ftp://shop.example",
        "https://",
        "",
        "about:blank",
    ] {
        assert!(Origin::parse(written).is_err(), "{written}");
    }
    for written in [
        "https://shop.example",
        "http://127.0.0.1:8080",
        "http://[::1]:81",
    ] {
        assert_eq!(Origin::parse(written).unwrap().to_string(), written);
    }
}

#[test]
fn r22_an_origin_and_its_subdomain_differ_both_ways() {
    let parent = Origin::parse("https://telepass.example").unwrap();
    let child = Origin::parse("https://login.telepass.example").unwrap();
    assert!(!parent.holds(&Url::parse("https://login.telepass.example/").unwrap()));
    assert!(!child.holds(&Url::parse("https://telepass.example/").unwrap()));
    assert_ne!(parent, child);
}
