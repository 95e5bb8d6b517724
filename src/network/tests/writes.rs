use super::rig::*;
use crate::network::NetEvent;
use crate::policy::{Carries, Origin, SignIn, Suggestion};

#[tokio::test]
async fn r89_an_undeclared_write_never_reaches_the_site() {
    let site = site().await;
    let mut rig = rig(config([mapped("http://code.test", site.address)])).await;
    for method in ["POST", "PUT", "PATCH", "DELETE", "PURGE"] {
        let answer = rig
            .say(&request(method, "http://code.test/items?key=1", "", "a=b"))
            .await;
        assert_eq!(answer.status, 403, "{method}");
        assert!(
            answer.text.ends_with("\r\n\r\n"),
            "no word of ours to the page"
        );
        let blocked = rig.blocked().await;
        assert_eq!(blocked.reason, "undeclared write");
        assert_eq!(blocked.path.as_deref(), Some("/items"));
        let request = format!("{method} http://code.test/items");
        assert_eq!(blocked.suggest, Some(Suggestion::Write { request }));
    }
    let override_ = request(
        "GET",
        "http://code.test/items",
        "X-HTTP-Method-Override: DELETE\r\n",
        "",
    );
    assert_eq!(rig.say(&override_).await.status, 403);
    assert!(site.seen().is_empty());
    for method in ["GET", "OPTIONS"] {
        assert_eq!(
            rig.say(&request(method, "http://code.test/items", "", ""))
                .await
                .status,
            200
        );
    }
    assert_eq!(site.seen().len(), 2);
}

#[tokio::test]
async fn a_large_refused_body_still_gets_its_answer() {
    let site = site().await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    let answer = rig
        .say(&request(
            "POST",
            "http://code.test/",
            "",
            &"x".repeat(500_000),
        ))
        .await;
    assert_eq!(answer.status, 403);
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn r90_a_window_lets_writes_through_while_it_is_open_and_tells_of_them() {
    let site = site().await;
    let mut rig = rig(config([mapped("http://code.test", site.address)])).await;
    let post = request("POST", "http://code.test/comments?draft=1", "", "text=hi");
    assert_eq!(rig.say(&post).await.status, 403);
    let id = rig
        .config
        .gate
        .lock()
        .unwrap()
        .open_window("adds a comment");
    assert_eq!(rig.say(&post).await.status, 200);
    rig.config.gate.lock().unwrap().close_window(id);
    assert_eq!(rig.say(&post).await.status, 403);
    assert_eq!(site.seen().len(), 1);
    assert!(site.seen()[0].ends_with("text=hi"));
    let (method, address, because) = rig
        .event(|event| match event {
            NetEvent::Wrote {
                method,
                address,
                because,
                ..
            } => Some((method, address, because)),
            _ => None,
        })
        .await;
    assert_eq!(
        (method.as_str(), because.as_str()),
        ("POST", "adds a comment")
    );
    assert_eq!(address.url, "http://code.test/comments");
    assert_eq!(address.query.as_deref(), Some("draft=1"));
}

#[tokio::test]
async fn a_declared_write_passes_as_often_as_declared() {
    let site = site().await;
    let gate = writes(
        &[("stars it", "POST http://code.test/*/star", Some(1))],
        &[],
    );
    let mut rig = rig(gated([mapped("http://code.test", site.address)], gate)).await;
    let star = request("POST", "http://code.test/demo/star", "", "");
    assert_eq!(rig.say(&star).await.status, 200);
    assert_eq!(rig.say(&star).await.status, 403);
    assert!(
        rig.blocked()
            .await
            .detail
            .unwrap()
            .contains("declared for 1")
    );
    assert_eq!(site.seen().len(), 1);
}

/// Where the value `kitten` belongs.
fn sign_in() -> SignIn {
    SignIn {
        origin: Origin::parse("http://code.test").unwrap(),
        action: None,
        carries: Carries::new(|body| body.ends_with(b"kitten")),
    }
}

#[tokio::test]
async fn r89_a_login_covers_the_one_request_that_carries_the_value_to_its_origin() {
    let site = site().await;
    let rules = [
        mapped("http://code.test", site.address),
        mapped("http://other.test", site.address),
    ];
    let rig = rig(config(rules)).await;
    rig.config.gate.lock().unwrap().open_login(sign_in());
    let post =
        |host: &str, body: &str| request("POST", &format!("http://{host}/session"), "", body);
    let coded = |body: &str| {
        let fields = "Content-Encoding: gzip\r\n";
        request("POST", "http://code.test/session", fields, body)
    };
    for refused in [
        post("other.test", "p=kitten"),
        post("code.test", "delete=account"),
        coded("p=kitten"),
        request("DELETE", "http://code.test/session", "", "p=kitten"),
    ] {
        assert_eq!(rig.say(&refused).await.status, 403, "{refused}");
    }
    assert!(site.seen().is_empty());
    assert_eq!(rig.say(&post("code.test", "p=kitten")).await.status, 200);
    assert!(
        site.seen()[0].ends_with("p=kitten"),
        "the body arrives whole"
    );
    assert_eq!(rig.say(&post("code.test", "p=kitten")).await.status, 403);
}

#[tokio::test]
async fn a_login_that_is_redirected_as_it_is_covers_the_next_request_too() {
    let site = answering(|head| {
        match head.contains("/session/") {
            true => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            false => "HTTP/1.1 308 Permanent Redirect\r\nLocation: /session/\r\nContent-Length: 0\r\n\r\n",
        }
        .into()
    })
    .await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    rig.config.gate.lock().unwrap().open_login(sign_in());
    let post = |path: &str| request("POST", &format!("http://code.test{path}"), "", "kitten");
    assert_eq!(rig.say(&post("/session")).await.status, 308);
    assert_eq!(rig.say(&post("/session/")).await.status, 200);
    assert_eq!(rig.say(&post("/session/")).await.status, 403);
}

#[tokio::test]
async fn case_152_beacons_and_pings_are_stopped_and_noted() {
    let site = site().await;
    let mut rig = rig(config([mapped("http://code.test", site.address)])).await;
    for (fields, note) in [
        (
            "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\n",
            "beacon",
        ),
        (
            "Ping-To: http://x.test/\r\nContent-Type: text/ping\r\n",
            "ping",
        ),
        ("Content-Type: application/csp-report\r\n", "report"),
    ] {
        let answer = rig
            .say(&request("POST", "http://code.test/track", fields, "x"))
            .await;
        assert_eq!(answer.status, 403);
        assert_eq!(rig.blocked().await.reason, note);
    }
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn a_safe_request_is_known_by_its_operation() {
    let site = site().await;
    let gate = writes(&[], &[("POST http://code.test/graphql", &["Orders"])]);
    let mut rig = rig(gated([mapped("http://code.test", site.address)], gate)).await;
    let json = "Content-Type: application/json\r\n";
    let post = |fields: &str, body: &str| request("POST", "http://code.test/graphql", fields, body);
    let read = r#"{"query":"query Orders { orders { id } }"}"#;
    assert_eq!(rig.say(&post(json, read)).await.status, 200);
    assert!(site.seen()[0].ends_with(read), "the body arrives whole");

    let mutation = r#"{"operationName":"Orders","query":"mutation Orders { wipe }"}"#;
    let batch = format!("[{read},{mutation}]");
    let padded = format!("{}{read}", " ".repeat(1024 * 1024));
    let coded = format!("{json}Content-Encoding: gzip\r\n");
    for (fields, body) in [
        (json, mutation),
        (json, batch.as_str()),
        (json, padded.as_str()),
        ("Content-Type: text/plain\r\n", read),
        (coded.as_str(), read),
    ] {
        assert_eq!(
            rig.say(&post(fields, body)).await.status,
            403,
            "{:.60}",
            body
        );
        assert_eq!(rig.blocked().await.reason, "undeclared write");
    }
    assert_eq!(site.seen().len(), 1);
}
