use super::rig::*;

/// Requests that two readers could take for different ones, each to a listed host.
fn refused() -> Vec<(&'static str, String)> {
    let line = "POST http://code.test/ HTTP/1.1\r\nHost: code.test\r\n";
    let get = "GET http://code.test/ HTTP/1.1\r\n";
    vec![
        (
            "length and chunks",
            format!("{line}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ),
        (
            "two lengths",
            format!("{line}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"),
        ),
        (
            "the same length twice",
            format!("{line}Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd"),
        ),
        (
            "list of lengths",
            format!("{line}Content-Length: 4, 4\r\n\r\nabcd"),
        ),
        (
            "signed length",
            format!("{line}Content-Length: +4\r\n\r\nabcd"),
        ),
        (
            "hex length",
            format!("{line}Content-Length: 0x4\r\n\r\nabcd"),
        ),
        (
            "other encoding",
            format!("{line}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ),
        (
            "hidden encoding",
            format!("{line}Transfer-Encoding: xchunked\r\n\r\n"),
        ),
        (
            "two encodings",
            format!("{line}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"),
        ),
        ("folded line", format!("{line}X: a\r\n b\r\n\r\n")),
        (
            "bare line feed",
            "GET http://code.test/ HTTP/1.1\nHost: code.test\n\n".to_owned(),
        ),
        (
            "bare line feed in a header",
            format!("{get}Host: code.test\r\nX: a\nY: b\r\n\r\n"),
        ),
        (
            "bare carriage return",
            format!("{get}Host: code.test\r\nX: a\rY: b\r\n\r\n"),
        ),
        (
            "space before colon",
            format!("{get}Host : code.test\r\n\r\n"),
        ),
        (
            "no colon",
            format!("{get}Host: code.test\r\nnonsense\r\n\r\n"),
        ),
        (
            "NUL in a header",
            format!("{get}Host: code.test\r\nX: a\0b\r\n\r\n"),
        ),
        ("no host", format!("{get}\r\n")),
        (
            "two hosts",
            format!("{get}Host: code.test\r\nHost: code.test\r\n\r\n"),
        ),
        ("other host", format!("{get}Host: evil.test\r\n\r\n")),
        ("other port", format!("{get}Host: code.test:81\r\n\r\n")),
        ("host with user", format!("{get}Host: a@code.test\r\n\r\n")),
        ("host with dot", format!("{get}Host: code.test.\r\n\r\n")),
        (
            "old version",
            "GET http://code.test/ HTTP/1.0\r\nHost: code.test\r\n\r\n".to_owned(),
        ),
        ("no version", "GET http://code.test/\r\n\r\n".to_owned()),
        (
            "two spaces",
            "GET  http://code.test/ HTTP/1.1\r\nHost: code.test\r\n\r\n".to_owned(),
        ),
        (
            "method of signs",
            "G(T http://code.test/ HTTP/1.1\r\nHost: code.test\r\n\r\n".to_owned(),
        ),
        (
            "fragment",
            "GET http://code.test/#x HTTP/1.1\r\nHost: code.test\r\n\r\n".to_owned(),
        ),
        (
            "leading empty line",
            format!("\r\n{get}Host: code.test\r\n\r\n"),
        ),
        (
            "endless headers",
            format!("{get}Host: code.test\r\nX: {}\r\n\r\n", "a".repeat(70_000)),
        ),
    ]
}

#[tokio::test]
async fn ambiguous_requests_get_400_and_the_connection_closes() {
    let site = site().await;
    let gate = writes(&[("everything", "POST http://code.test/**", None)], &[]);
    let rig = rig(gated([mapped("http://code.test", site.address)], gate)).await;
    for (what, bytes) in refused() {
        let mut client = rig.client().await;
        client.send(&bytes).await;
        let answer = client.rest().await;
        // A reset after the answer can eat it; that it was not let through is what counts.
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
            "{what}: {answer}"
        );
        assert!(answer.matches("HTTP/1.1").count() <= 1, "{what}");
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
}

#[tokio::test]
async fn every_request_of_a_kept_connection_is_judged() {
    let site = site().await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    let mut client = rig.client().await;
    for (address, status) in [
        ("http://code.test/1", 200),
        ("http://evil.test/", 403),
        ("http://code.test/2", 200),
        ("http://code.test:81/", 403),
        ("http://code.test/3", 200),
    ] {
        client.send(&request("GET", address, "", "")).await;
        assert_eq!(client.answer().await.unwrap().status, status, "{address}");
    }
    let paths: Vec<_> = site.seen().iter().map(|r| r[4..6].to_owned()).collect();
    assert_eq!(paths, ["/1", "/2", "/3"]);
}

#[tokio::test]
async fn pipelined_requests_are_judged_one_by_one() {
    let site = site().await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    let mut client = rig.client().await;
    let pair = format!(
        "{}{}{}",
        request("GET", "http://code.test/1", "", ""),
        request("DELETE", "http://code.test/2", "", ""),
        request("GET", "http://code.test/3", "", "")
    );
    client.send(&pair).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(client.answer().await.unwrap().status);
    }
    assert_eq!(statuses, [200, 403, 200]);
    assert_eq!(site.seen().len(), 2);
}

#[tokio::test]
async fn a_request_hidden_in_a_body_stays_a_body() {
    let site = site().await;
    let gate = writes(&[("posts", "POST http://code.test/form", None)], &[]);
    let rig = rig(gated([mapped("http://code.test", site.address)], gate)).await;
    let hidden = "DELETE /all HTTP/1.1\r\nHost: code.test\r\n\r\n";
    let answer = rig
        .say(&request("POST", "http://code.test/form", "", hidden))
        .await;
    assert_eq!(answer.status, 200);
    let seen = site.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].starts_with("POST /form") && seen[0].ends_with(hidden));
}

#[tokio::test]
async fn chunks_are_written_anew_without_extensions_and_trailers() {
    let site = site().await;
    let gate = writes(&[("posts", "POST http://code.test/form", None)], &[]);
    let rig = rig(gated([mapped("http://code.test", site.address)], gate)).await;
    let head = "POST http://code.test/form HTTP/1.1\r\nHost: code.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = rig
        .say(&format!("{head}5;x=y\r\nhello\r\n0\r\nX-Late: 1\r\n\r\n"))
        .await;
    assert_eq!(answer.status, 200);
    assert!(
        site.seen()[0].ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        "{:?}",
        site.seen()
    );

    for bad in [
        "5\nhello\r\n0\r\n\r\n",
        "zz\r\nhello\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "-1\r\n\r\n",
    ] {
        let mut client = rig.client().await;
        client.send(&format!("{head}{bad}")).await;
        client.rest().await;
    }
    assert_eq!(
        site.seen().len(),
        1,
        "a broken body never becomes a whole request"
    );
}

#[tokio::test]
async fn fields_of_the_hop_are_removed_and_nothing_is_added() {
    let site = site().await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    let fields = "Proxy-Connection: keep-alive\r\nConnection: X-Hop, keep-alive, Host\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\
                  TE: trailers\r\nUpgrade: h2c\r\nProxy-Authorization: Basic eA==\r\nX-Own: caf\u{e9}\r\nCookie: a=b\r\n";
    rig.say(&request("GET", "http://code.test/", fields, ""))
        .await;
    assert_eq!(
        site.seen(),
        ["GET / HTTP/1.1\r\nHost: code.test\r\nX-Own: caf\u{e9}\r\nCookie: a=b\r\n\r\n"]
    );
}
