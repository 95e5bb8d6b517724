use url::Url;

use crate::policy::{
    Carries, Gate, LOGIN, Origin, RequestFacts, RequestPattern, Ruling, SafeRequest, SignIn,
    WriteRule,
};

fn request(method: &str, address: &str) -> RequestFacts {
    RequestFacts::new(method, Url::parse(address).unwrap())
}

fn because(ruling: Ruling) -> Option<String> {
    match ruling {
        Ruling::Write { because } => Some(because),
        _ => None,
    }
}

fn undeclared(ruling: &Ruling) -> bool {
    matches!(ruling, Ruling::Undeclared { .. })
}

#[test]
fn r89_reads_pass_and_everything_else_needs_a_declaration() {
    let mut gate = Gate::default();
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert_eq!(
            gate.judge(&request(method, "http://code.test/x?delete=1")),
            Ruling::Read
        );
    }
    for method in [
        "POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "PROPFIND", "QUERY",
    ] {
        assert!(
            undeclared(&gate.judge(&request(method, "http://code.test/x"))),
            "{method}"
        );
    }
}

#[test]
fn r89_a_method_override_is_judged_as_the_method_it_asks_for() {
    let mut gate = Gate::new(
        vec![WriteRule::parse("x", "POST http://code.test/x", None).unwrap()],
        vec![],
    );
    let with = |method: &str, other: &str| RequestFacts {
        method_override: Some(other.to_owned()),
        ..request(method, "http://code.test/x")
    };
    assert!(undeclared(&gate.judge(&with("GET", "DELETE"))));
    assert!(undeclared(&gate.judge(&with("POST", "DELETE"))));
    assert!(undeclared(&gate.judge(&with("POST", "GET"))));
    assert_eq!(gate.judge(&with("GET", "head")), Ruling::Read);
    assert!(because(gate.judge(&request("POST", "http://code.test/x"))).is_some());
}

#[test]
fn a_declared_write_counts_its_times() {
    let rule =
        WriteRule::parse("stars the project", "POST http://code.test/*/star", Some(2)).unwrap();
    let mut gate = Gate::new(vec![rule], vec![]);
    let star = request("POST", "http://code.test/demo/star?token=1");
    assert_eq!(
        because(gate.judge(&star)).as_deref(),
        Some("stars the project")
    );
    assert!(undeclared(
        &gate.judge(&request("DELETE", "http://code.test/demo/star"))
    ));
    assert!(undeclared(
        &gate.judge(&request("POST", "http://code.test/a/demo/star"))
    ));
    assert!(
        because(gate.judge(&star)).is_some(),
        "what was refused is not counted"
    );
    let Ruling::Undeclared {
        spent: Some(spent), ..
    } = gate.judge(&star)
    else {
        panic!("the third is one too many");
    };
    assert!(spent.contains("declared for 2"), "{spent}");
}

#[test]
fn a_window_lets_writes_through_only_while_it_is_open() {
    let mut gate = Gate::default();
    let post = request("POST", "http://code.test/x");
    assert!(undeclared(&gate.judge(&post)));
    let id = gate.open_window("adds a comment");
    assert_eq!(
        because(gate.judge(&post)).as_deref(),
        Some("adds a comment")
    );
    gate.close_window(id);
    gate.close_window(id);
    assert!(undeclared(&gate.judge(&post)));
    assert!(!gate.is_open());
}

fn sign_in(origin: &str, action: Option<&str>) -> SignIn {
    SignIn {
        origin: Origin::parse(origin).unwrap(),
        action: action.map(|action| Url::parse(action).unwrap()),
        carries: Carries::new(|body| body == b"value"),
    }
}

/// A POST whose body holds what was signed in with.
fn carrying(address: &str) -> RequestFacts {
    RequestFacts {
        carries: true,
        ..request("POST", address)
    }
}

#[test]
fn a_login_covers_requests_to_its_origin_alone() {
    let mut gate = Gate::default();
    gate.open_login(sign_in("https://login.shop.example", None));
    for other in [
        "https://shop.example/session",
        "http://login.shop.example/session",
        "https://login.shop.example:8443/session",
    ] {
        assert!(undeclared(&gate.judge(&carrying(other))), "{other}");
        assert!(gate.wants_carried(&carrying(other)).is_none(), "{other}");
    }
    let to_it = carrying("https://login.shop.example/session");
    assert!(gate.wants_carried(&to_it).unwrap().body(b"value"));
    assert_eq!(because(gate.judge(&to_it)).as_deref(), Some(LOGIN));
}

#[test]
fn r89_r90_a_login_covers_the_request_with_the_value_once_and_nothing_beside_it() {
    let mut gate = Gate::default();
    gate.open_login(sign_in("http://shop.test", None));
    let with = |method: &str| RequestFacts {
        method: method.into(),
        ..carrying("http://shop.test/session")
    };
    let overridden = RequestFacts {
        method_override: Some("DELETE".into()),
        ..with("POST")
    };
    for other in [
        request("DELETE", "http://shop.test/account"),
        request("POST", "http://shop.test/pay"),
        with("PUT"),
        with("DELETE"),
        overridden,
    ] {
        assert!(undeclared(&gate.judge(&other)), "{other:?}");
    }
    assert!(because(gate.judge(&with("POST"))).is_some());
    assert!(undeclared(&gate.judge(&with("POST"))), "once");
    assert!(gate.wants_carried(&with("POST")).is_none());
    gate.login_redirected();
    assert!(because(gate.judge(&with("POST"))).is_some());
    assert!(undeclared(&gate.judge(&with("POST"))));
}

#[test]
fn a_login_covers_the_forms_own_submit_even_where_the_page_hashed_the_value() {
    let own = |kind: &str, mode: Option<&str>| RequestFacts {
        content_type: Some(kind.into()),
        fetch_mode: mode.map(str::to_owned),
        ..request("POST", "http://shop.test/session?next=1")
    };
    let passes = |facts: &RequestFacts| {
        let mut gate = Gate::default();
        let action = "http://shop.test/session?next=1#top";
        gate.open_login(sign_in("http://shop.test", Some(action)));
        because(gate.judge(facts)).is_some()
    };
    let form = "application/x-www-form-urlencoded";
    assert!(passes(&own(form, None)));
    assert!(passes(&own(form, Some("navigate"))));
    assert!(passes(&own("multipart/form-data; boundary=x", None)));
    assert!(!passes(&own(form, Some("cors"))));
    assert!(!passes(&own("application/json", None)));
    let other = RequestFacts {
        content_type: Some(form.into()),
        ..request("POST", "http://shop.test/session")
    };
    assert!(!passes(&other), "another address");
}

#[test]
fn case_152_beacons_pings_and_reports_are_stopped_and_noted_even_in_a_window() {
    let mut gate = Gate::default();
    gate.open_window("sends the form");
    let post = || request("POST", "http://code.test/track");
    let beacon = RequestFacts {
        fetch_mode: Some("no-cors".into()),
        fetch_dest: Some("empty".into()),
        ..post()
    };
    let ping = RequestFacts {
        ping: true,
        ..post()
    };
    let text_ping = RequestFacts {
        content_type: Some("text/ping".into()),
        ..post()
    };
    let report = RequestFacts {
        content_type: Some("application/csp-report; x".into()),
        ..post()
    };
    for (facts, note) in [
        (&beacon, "beacon"),
        (&ping, "ping"),
        (&text_ping, "ping"),
        (&report, "report"),
    ] {
        assert_eq!(gate.judge(facts), Ruling::Stop { note });
    }
    // A form post to a frame is no-cors-like in nothing: mode navigate.
    let form = RequestFacts {
        fetch_mode: Some("navigate".into()),
        fetch_dest: Some("iframe".into()),
        ..post()
    };
    assert!(because(gate.judge(&form)).is_some());
    let declared =
        WriteRule::parse("counts the visit", "POST http://code.test/track", None).unwrap();
    let mut gate = Gate::new(vec![declared], vec![]);
    assert!(
        because(gate.judge(&beacon)).is_some(),
        "the author asked for this one"
    );
}

#[test]
fn a_safe_request_holds_for_its_operations_alone() {
    let safe = SafeRequest::parse(
        "POST https://code.test/graphql",
        vec!["Orders".into(), "Me".into()],
    )
    .unwrap();
    let mut gate = Gate::new(vec![], vec![safe]);
    let call = |names: &[&str], address: &str| RequestFacts {
        operations: names.iter().map(|n| n.to_string()).collect(),
        ..request("POST", address)
    };
    let at = "https://code.test/graphql";
    assert!(gate.wants_operations(&call(&[], at)));
    assert!(!gate.wants_operations(&call(&[], "https://code.test/other")));
    assert_eq!(gate.judge(&call(&["Orders"], at)), Ruling::Safe { rule: 0 });
    assert_eq!(
        gate.judge(&call(&["Orders", "Me"], at)),
        Ruling::Safe { rule: 0 }
    );
    for names in [
        &[][..],
        &["Orders", "DeleteAll"],
        &["mutation Orders"],
        &["orders"],
    ] {
        assert!(undeclared(&gate.judge(&call(names, at))), "{names:?}");
    }
    let twofold = "https://code.test/graphql?query=mutation%7Bx%7D";
    assert!(undeclared(&gate.judge(&call(&["Orders"], twofold))));
}

#[test]
fn the_line_to_add_is_itself_a_declaration_of_that_request() {
    let mut gate = Gate::default();
    let post = request("POST", "https://code.test:8443/a%20b/\"c\"?token=1#x");
    let Ruling::Undeclared { suggest, .. } = gate.judge(&post) else {
        panic!()
    };
    assert_eq!(suggest.key(), "writes");
    let line = suggest.to_string();
    let from = line.find("request: \"").unwrap() + "request: \"".len();
    let pattern = RequestPattern::parse(&line[from..line.rfind('"').unwrap()]).unwrap();
    assert!(pattern.matches(&post), "{line}");
    assert!(!line.contains("token"), "{line}");

    let read = RequestFacts {
        operations: vec!["Orders".into()],
        ..request("POST", "https://code.test/graphql")
    };
    let Ruling::Undeclared { suggest, .. } = gate.judge(&read) else {
        panic!()
    };
    assert_eq!(suggest.key(), "safe_requests");
    assert_eq!(
        suggest.to_string(),
        "- { request: \"POST https://code.test/graphql\", operation: [Orders] }"
    );

    let write = RequestFacts {
        operations: vec!["mutation Orders".into()],
        ..read
    };
    let Ruling::Undeclared { suggest, .. } = gate.judge(&write) else {
        panic!()
    };
    assert_eq!(suggest.key(), "writes");
}

#[test]
fn malformed_declarations_say_how_to_mend_them() {
    let write = |text| WriteRule::parse("x", text, None).unwrap_err().to_string();
    assert!(write("https://code.test/x").contains("write a method and an address"));
    assert!(write("post https://code.test/x").contains("in capitals"));
    assert!(write("GET https://code.test/x").contains("reads and need no entry"));
    assert!(write("POST code.test/x").contains("starts with `http://`"));
    assert!(write("POST https://code.test/x y").contains("is not a request"));
    assert!(WriteRule::parse("x", "POST https://code.test/x", Some(0)).is_err());
    assert!(SafeRequest::parse("POST /**", vec![]).is_err());
    assert!(SafeRequest::parse("POST https://**", vec![]).is_err());
    assert!(SafeRequest::parse("POST /search/**", vec![]).is_ok());
}
