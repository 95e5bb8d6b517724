//! Who gets in, and what each may touch.

use serde_json::json;

use super::rig::{Serving, site};

#[test]
fn t18_f45_strangers_are_refused_on_every_route_and_nothing_happens() {
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let at = serving.service.at.clone();
    let document = serving.call("", "GET", "/openapi.json", None).body;
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() > 10);
    let auth = format!("Authorization: Bearer {}", tokens.ada);
    let json_kind = "Content-Type: application/json".to_owned();
    for (path, operations) in paths {
        for method in operations.as_object().expect("operations").keys() {
            let method = method.to_uppercase();
            let path = path.replace("{id}", "s1").replace("{approval}", "a1");
            let say = |lines: &[String]| serving.say(&method, &path, lines, "").status;
            // A page that rebound its name to us, and one that asks across origins.
            for host in ["evil.test", "127.0.0.1", "localhost.evil.test", "0.0.0.0"] {
                let lines = [format!("Host: {host}"), auth.clone(), json_kind.clone()];
                assert_eq!(say(&lines), 403, "{method} {path} {host}");
            }
            for origin in ["null", "http://evil.test", "http://127.0.0.1"] {
                let lines = [
                    format!("Host: {at}"),
                    format!("Origin: {origin}"),
                    auth.clone(),
                    json_kind.clone(),
                ];
                assert_eq!(say(&lines), 403, "{method} {path} {origin}");
            }
            if path == "/openapi.json" {
                continue;
            }
            // Documented routes are there, and closed without a token.
            let lines = [format!("Host: {at}"), json_kind.clone()];
            assert_eq!(say(&lines), 401, "{method} {path}");
            let wrong = format!("{}x", auth);
            let lines = [format!("Host: {at}"), wrong, json_kind.clone()];
            assert_eq!(say(&lines), 401, "{method} {path}");
            if method == "POST" {
                let plain = "Content-Type: text/plain".to_owned();
                assert_eq!(
                    say(&[format!("Host: {at}"), auth.clone(), plain]),
                    415,
                    "{path}"
                );
            }
        }
    }
    // The approver's token opens no owner's route, and an owner's none of the approver's.
    assert_eq!(
        serving
            .call(&tokens.approver, "GET", "/sessions", None)
            .status,
        401
    );
    assert_eq!(
        serving
            .call(&tokens.ada, "GET", "/approvals/pending", None)
            .status,
        401
    );
    let preflight = [
        format!("Host: {at}"),
        "Origin: http://evil.test".into(),
        "Access-Control-Request-Method: POST".into(),
    ];
    let answer = serving.say("OPTIONS", "/sessions", &preflight, "");
    assert_eq!(answer.status, 403);
    assert!(
        !answer.raw.to_lowercase().contains("access-control"),
        "{}",
        answer.raw
    );
    let large = "x".repeat(300 << 10);
    let lines = [format!("Host: {at}"), auth, json_kind];
    assert_eq!(serving.say("POST", "/run", &lines, &large).status, 413);
    assert_eq!(serving.audit(), "", "a stranger caused something");
}

#[test]
fn r27_r29_r30_r31_sessions_are_apart_and_each_has_one_owner() {
    let shop = site("parcels");
    let start = format!("http://{}/", shop.at);
    let (serving, tokens) = Serving::start(start.trim_end_matches('/'), &[]);
    let (ada, bob) = (&tokens.ada, &tokens.bob);
    let first = serving.open(ada, &start);
    let second = serving.open(ada, &start);
    let third = serving.open(ada, &start);
    let others = [serving.open(bob, &start), serving.open(bob, &start)];
    serving.sign_in(&tokens, &first);
    let text = |token: &str, session: &str| {
        serving.act(token, session, json!({ "step": { "goto": "/orders" } }));
        let read = serving.call(token, "GET", &format!("/sessions/{session}/read"), None);
        assert_eq!(read.status, 200, "{}", read.raw);
        // R32: no HTML, no cookies, no storage, no selectors.
        for word in ["<html", "<div", "Set-Cookie", "set-cookie", "querySelector"] {
            assert!(!read.raw.contains(word), "{word}");
        }
        assert!(
            read.body["picture"]["png"].is_string(),
            "{}",
            read.body["picture"]
        );
        read.body["text"].as_str().expect("text").to_owned()
    };
    assert!(text(ada, &first).contains("45 orders"));
    // R27: the same host, another jar.
    assert!(text(ada, &second).contains("Seller sign-in"));
    assert!(text(bob, &others[0]).contains("Seller sign-in"));

    // R29: every route with every wrong pair of id and owner is refused in the same words.
    let closed = third;
    assert_eq!(
        serving
            .call(ada, "DELETE", &format!("/sessions/{closed}"), None)
            .status,
        200
    );
    let mut told = Vec::new();
    for id in [
        "",
        "s000000000000000000000000",
        "..%2Fsessions",
        &first,
        &closed,
    ] {
        let token = if id == closed { ada } else { bob };
        for (method, path, body) in [
            ("GET", "read", None),
            ("POST", "act", Some(json!({ "sentence": "Click Orders" }))),
            (
                "POST",
                "batch",
                Some(json!({ "actions": [{ "sentence": "Click Orders" }] })),
            ),
            (
                "POST",
                "login",
                Some(json!({ "credential": "parcels-user" })),
            ),
            (
                "POST",
                "extract",
                Some(json!({ "extract": { "a": { "css": "h1" } } })),
            ),
            ("POST", "approvals/a1/token", Some(json!({}))),
            ("DELETE", "", None),
        ] {
            let path = format!("/sessions/{id}/{path}");
            let answer = serving.call(token, method, path.trim_end_matches('/'), body);
            if !id.is_empty() {
                told.push((answer.status, answer.body.to_string()));
            }
            assert_eq!(answer.status, 404, "{method} {path}: {}", answer.raw);
        }
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");

    // R30: the others are as they were.
    assert!(text(ada, &first).contains("45 orders"));
    // R31: all of hers, none of his.
    let gone = serving.call(ada, "POST", "/revoke-all", Some(json!({})));
    assert_eq!(gone.body["closed"], 2, "{}", gone.raw);
    let list = |token: &str| {
        serving.call(token, "GET", "/sessions", None).body["sessions"]
            .as_array()
            .map(Vec::len)
    };
    assert_eq!((list(ada), list(bob)), (Some(0), Some(2)));
    assert!(text(bob, &others[1]).contains("Seller sign-in"));
    serving.assert_no_values(&[]);
}

#[test]
fn what_is_malformed_is_told_as_json_and_long_names_are_refused() {
    let shop = site("parcels");
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let session = serving.open(&tokens.ada, &format!("http://{}/", shop.at));
    for query in ["picture=maybe", "picture=", "color=red"] {
        let path = format!("/sessions/{session}/read?{query}");
        let told = serving.call(&tokens.ada, "GET", &path, None);
        assert_eq!(
            (told.status, &told.body["reason"]),
            (400, &json!("malformed")),
            "{}",
            told.raw
        );
    }
    let path = format!("/sessions/{session}/read?picture=false");
    let read = serving.call(&tokens.ada, "GET", &path, None);
    assert!(read.body["picture"].is_null() && read.body["ok"] == true);
    let long = json!({ "start": "http://a.test/", "name": "n".repeat(101) });
    let told = serving.call(&tokens.ada, "POST", "/sessions", Some(long));
    assert_eq!(told.status, 400, "{}", told.raw);
    let lines = [
        format!("Host: {}", serving.service.at),
        format!("Authorization: Bearer {}", tokens.ada),
        "Content-Type: application/json".to_owned(),
    ];
    let twice = r#"{"extract":{"h":"h1","h":"p"}}"#;
    let told = serving.say(
        "POST",
        &format!("/sessions/{session}/extract"),
        &lines,
        twice,
    );
    assert!(
        told.body["error"].to_string().contains("duplicate field"),
        "{}",
        told.raw
    );
}
