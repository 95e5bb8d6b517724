use url::Url;

use crate::policy::{AllowSet, Denial, HostError, HostRule, Scheme, mixed_scripts, navigable};

fn set(entries: &[&str]) -> AllowSet {
    AllowSet::new(
        entries
            .iter()
            .map(|entry| HostRule::parse(entry, Scheme::Https).expect(entry)),
    )
}

fn ruling(set: &AllowSet, address: &str) -> &'static str {
    match Url::parse(address) {
        Err(_) => "not an address",
        Ok(url) => match set.judge(&url) {
            Ok(_) => "ok",
            Err(denial) => denial.reason(),
        },
    }
}

const TABLE: &[(&str, &str)] = &[
    // the listed place itself, in every spelling a browser makes one of
    ("https://shop.example/", "ok"),
    ("https://shop.example", "ok"),
    ("https://shop.example:443/", "ok"),
    ("https://SHOP.EXAMPLE/", "ok"),
    ("HTTPS://Shop.Example/a/b?c#d", "ok"),
    ("wss://shop.example/socket", "ok"),
    ("https://shop.example/https://evil.test/", "ok"),
    ("https://shop.example\\@evil.test/", "ok"),
    ("https://sh\top.example/", "ok"),
    ("https://shop。example/", "ok"),
    ("https://%73hop.example/", "ok"),
    // other schemes and ports of it
    ("http://shop.example/", "scheme not listed"),
    ("ws://shop.example/", "scheme not listed"),
    ("http://shop.example:443/", "scheme not listed"),
    ("https://shop.example:80/", "port not listed"),
    ("https://shop.example:8443/", "port not listed"),
    ("https://shop.example:4430/", "port not listed"),
    ("wss://shop.example:9999/", "port not listed"),
    ("https://shop.example:99999/", "not an address"),
    // relatives and look-alikes
    ("https://example/", "host not listed"),
    ("https://www.shop.example/", "host not listed"),
    ("https://login.shop.example/", "host not listed"),
    ("https://pay.example/", "host not listed"),
    ("https://shop.example./", "host not listed"),
    ("https://shop.example../", "host not listed"),
    ("https://shop.example.evil.test/", "host not listed"),
    ("https://evilshop.example/", "host not listed"),
    ("https://shop-example/", "host not listed"),
    ("https://shopexample/", "host not listed"),
    ("https://shop.example.com/", "host not listed"),
    ("https://shop.exampl/", "host not listed"),
    ("https://shop.examplе/", "host not listed"),
    ("https://ѕhop.example/", "host not listed"),
    ("https://xn--hop-ehd.example/", "host not listed"),
    ("https://shop.example%2eevil.test/", "host not listed"),
    ("https://evil.test/?shop.example", "host not listed"),
    ("https://evil.test/#@shop.example", "host not listed"),
    ("https://evil.test\\@shop.example/", "host not listed"),
    // user info
    ("https://shop.example@evil.test/", "user info in address"),
    (
        "https://shop.example:443@evil.test/",
        "user info in address",
    ),
    ("https://user@shop.example/", "user info in address"),
    ("https://user:word@shop.example/", "user info in address"),
    ("https://:word@shop.example/", "user info in address"),
    ("https://evil.test%40shop.example/", "not an address"),
    // punycode twins of a listed Unicode name
    ("https://bücher.example/", "ok"),
    ("https://xn--bcher-kva.example/", "ok"),
    ("https://BÜCHER.example/", "ok"),
    ("https://bu\u{308}cher.example/", "ok"),
    ("https://bucher.example/", "host not listed"),
    ("https://bйcher.example/", "host not listed"),
    // addresses: only as listed, whatever base they are written in
    ("http://127.0.0.1:8080/", "ok"),
    ("http://127.0.0.1/", "port not listed"),
    ("http://127.0.0.1:8081/", "port not listed"),
    ("http://2130706433:8080/", "ok"),
    ("http://0177.0.0.1:8080/", "ok"),
    ("http://0x7f.1:8080/", "ok"),
    ("http://localhost:8080/", "host not listed"),
    ("http://127.0.0.2:8080/", "host not listed"),
    ("http://127.0.0.1.:8080/", "ok"),
    ("http://[::1]:8080/", "host not listed"),
    ("http://[::ffff:127.0.0.1]:8080/", "host not listed"),
    ("http://0.0.0.0:8080/", "host not listed"),
    ("http://169.254.169.254/", "host not listed"),
    ("http://2852039166/", "host not listed"),
    ("http://x.localhost:8080/", "host not listed"),
    ("http://127.0.0.1.nip.example:8080/", "host not listed"),
    ("http://[2001:db8::1]/", "ok"),
    ("http://[2001:DB8:0::1]/", "ok"),
    ("http://[2001:db8::2]/", "host not listed"),
    // everything that isn't HTTP
    ("ftp://shop.example/", "scheme not allowed"),
    ("file:///etc/hostname", "scheme not allowed"),
    ("file://shop.example/etc", "scheme not allowed"),
    ("data:text/html,shop.example", "scheme not allowed"),
    ("blob:https://shop.example/1-2-3", "scheme not allowed"),
    (
        "javascript://shop.example/%0aalert(1)",
        "scheme not allowed",
    ),
    ("about:blank", "scheme not allowed"),
    ("chrome://version", "scheme not allowed"),
    ("view-source:https://shop.example/", "scheme not allowed"),
    ("filesystem:https://shop.example/t/x", "scheme not allowed"),
    ("webtransport://shop.example/", "scheme not allowed"),
    ("https:shop.example.evil.test", "host not listed"),
    ("//shop.example/", "not an address"),
];

#[test]
fn r71_only_exact_hosts_over_the_whole_table() {
    let allowed = set(&[
        "shop.example",
        "https://bücher.example",
        "http://127.0.0.1:8080",
        "http://[2001:db8::1]",
    ]);
    assert!(TABLE.len() >= 60);
    let wrong: Vec<_> = TABLE
        .iter()
        .map(|(address, want)| (*address, *want, ruling(&allowed, address)))
        .filter(|(_, want, got)| want != got)
        .collect();
    assert!(wrong.is_empty(), "address, wanted, got: {wrong:#?}");
}

#[test]
fn r71_listing_a_name_for_loopback_does_not_list_its_address() {
    let allowed = set(&["http://localhost:8080"]);
    for address in [
        "http://127.0.0.1:8080/",
        "http://2130706433:8080/",
        "http://[::1]:8080/",
    ] {
        assert_eq!(ruling(&allowed, address), "host not listed", "{address}");
    }
}

#[test]
fn r22_a_host_and_its_subdomain_are_different_both_ways() {
    assert_eq!(
        ruling(
            &set(&["telepass.example"]),
            "https://login.telepass.example/"
        ),
        "host not listed"
    );
    assert_eq!(
        ruling(
            &set(&["login.telepass.example"]),
            "https://telepass.example/"
        ),
        "host not listed"
    );
}

#[test]
fn r75_a_set_changes_only_into_its_next_version() {
    let first = set(&["a.example"]);
    let second = first.with(HostRule::parse("b.example", Scheme::Https).unwrap());
    assert_eq!(ruling(&first, "https://b.example/"), "host not listed");
    assert_eq!(ruling(&second, "https://b.example/"), "ok");
    assert!(second.version() > first.version());
    let third = second.without(&HostRule::parse("a.example", Scheme::Https).unwrap());
    assert_eq!(ruling(&third, "https://a.example/"), "host not listed");
    assert_eq!(ruling(&second, "https://a.example/"), "ok");
    assert!(third.version() > second.version());
}

#[test]
fn a_mapping_and_a_private_mark_for_one_place_are_merged() {
    let address = "127.0.0.1:4000".parse().unwrap();
    let rule = || HostRule::parse("http://code.test", Scheme::Https).unwrap();
    let merged = AllowSet::new([rule(), rule().mapped(address)]);
    let rule = merged
        .judge(&Url::parse("http://code.test/x").unwrap())
        .unwrap();
    assert!(rule.private);
    assert_eq!(rule.connect_to, Some(address));
    assert_eq!(merged.rules().len(), 1);
}

#[test]
fn denials_say_the_line_to_add() {
    let allowed = set(&["shop.example"]);
    let says = |address: &str| {
        allowed
            .judge(&Url::parse(address).unwrap())
            .unwrap_err()
            .to_string()
    };
    assert!(
        says("https://cdn.example:8443/x?y").contains("add `https://cdn.example:8443` to `hosts`")
    );
    assert!(says("https://shop.example:81/").contains("add `https://shop.example:81` to `hosts`"));
    assert!(says("http://shop.example/").contains("add `http://shop.example` to `hosts`"));
    assert!(!says("https://bob:hunter2@shop.example/").contains("hunter2"));
}

#[test]
fn entries_take_the_scheme_of_start_and_its_port() {
    let rule = |entry, scheme| HostRule::parse(entry, scheme).unwrap().to_string();
    assert_eq!(rule("shop.example", Scheme::Http), "http://shop.example");
    assert_eq!(rule("shop.example", Scheme::Https), "https://shop.example");
    assert_eq!(
        rule("Shop.Example:443", Scheme::Https),
        "https://shop.example"
    );
    assert_eq!(
        rule("https://shop.example:80", Scheme::Http),
        "https://shop.example:80"
    );
    assert_eq!(
        rule("BÜCHER.example:81", Scheme::Http),
        "http://xn--bcher-kva.example:81"
    );
    assert_eq!(rule("[::1]:81", Scheme::Http), "http://[::1]:81");
    assert_eq!(rule("127.0.0.1:81", Scheme::Http), "http://127.0.0.1:81");
}

#[test]
fn case_147_dead_entries_are_refused_with_the_right_form() {
    let cases = [
        (".shop.example", "write `shop.example`"),
        ("*.shop.example", "write `shop.example`"),
        (
            "https://*.shop.example:81",
            "write `https://shop.example:81`",
        ),
        ("*", "write `shop.example`"),
        ("shop.*", "write `shop.example`"),
        ("https://shop.example/", "write `https://shop.example`"),
        ("shop.example/", "write `shop.example`"),
        ("shop.example/path", "write `shop.example`"),
        ("https://shop.example?x", "write `https://shop.example`"),
        ("shop.example#x", "write `shop.example`"),
        (
            "https://user:hunter2@shop.example",
            "write `https://shop.example`",
        ),
        ("shop.example.", "write `shop.example`"),
        ("shop.example.:81", "write `shop.example:81`"),
        ("0177.0.0.1", "write `127.0.0.1`"),
        ("2130706433", "write `127.0.0.1`"),
        ("[0:0:0:0:0:0:0:1]:81", "write `[::1]:81`"),
        ("shop.example:", "as in `shop.example:8443`"),
        ("shop.example:0", "as in `shop.example:8443`"),
        ("shop.example:65536", "as in `shop.example:8443`"),
        ("shop.example:+80", "as in `shop.example:8443`"),
        ("shop..example", "is not a host name"),
        ("sh op.example", "is not a host name"),
        ("shop%2eexample", "is not a host name"),
        ("::1", "is not a host name"),
        ("", "holds no host"),
        ("https://", "holds no host"),
        ("https:///", "holds no host"),
        (":80", "holds no host"),
        ("ftp://shop.example", "scheme `ftp` is not allowed"),
        ("ws://shop.example", "scheme `ws` is not allowed"),
    ];
    for (entry, want) in cases {
        let error = HostRule::parse(entry, Scheme::Https)
            .expect_err(entry)
            .to_string();
        assert!(error.contains(want), "{entry}: {error}");
        assert!(!error.contains("hunter2"), "{entry}: {error}");
    }
}

#[test]
fn every_suggested_form_is_itself_a_working_entry() {
    for entry in [
        ".shop.example",
        "*.shop.example:81",
        "https://x.example/",
        "x.example.",
        "0x7f.1:80",
    ] {
        let (HostError::Wildcard { right, .. }
        | HostError::Path { right, .. }
        | HostError::TrailingDot { right, .. }
        | HostError::Address { right, .. }) = HostRule::parse(entry, Scheme::Http).unwrap_err()
        else {
            panic!("{entry} has no right form");
        };
        assert!(HostRule::parse(&right, Scheme::Http).is_ok(), "{right}");
    }
}

#[test]
fn case_148_unicode_names_compare_in_plain_form_and_mixed_alphabets_are_warned_about() {
    assert_eq!(mixed_scripts("bücher.example"), None);
    assert_eq!(mixed_scripts("пример.example"), None);
    let warning = mixed_scripts("shоp.example").expect("a Cyrillic letter in a Latin word");
    assert!(warning.contains("xn--"), "{warning}");
    let again = mixed_scripts("xn--shp-ted.example").expect("the same in plain form");
    assert!(again.contains("xn--shp-ted.example"), "{again}");
}

#[test]
fn r70_case_144_only_http_and_https_are_navigable() {
    let refused = [
        "file:///etc/hostname",
        "data:text/html,<h1>x</h1>",
        "blob:https://shop.example/0-0-0",
        "javascript:alert(1)",
        " JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        "about:blank",
        "about:srcdoc",
        "chrome://version",
        "chrome-extension://abc/x.html",
        "devtools://devtools/bundled/inspector.html",
        "view-source:https://shop.example/",
        "ftp://shop.example/",
        "ws://shop.example/",
        "wss://shop.example/",
        "mailto:a@b.example",
        "filesystem:https://shop.example/temporary/x",
        "intent://shop.example#Intent;end",
        "custom:shop.example",
    ];
    for address in refused {
        let denial = navigable(address).expect_err(address);
        assert!(
            matches!(denial, Denial::Scheme { .. }),
            "{address}: {denial}"
        );
        assert!(
            denial.to_string().contains("scheme not allowed"),
            "{denial}"
        );
    }
    assert_eq!(navigable("/login").unwrap_err(), Denial::Unreadable);
    assert_eq!(
        navigable("https://bob:pw@shop.example/").unwrap_err(),
        Denial::UserInfo
    );
    assert_eq!(
        navigable("https://Shop.example").unwrap().as_str(),
        "https://shop.example/"
    );
}
