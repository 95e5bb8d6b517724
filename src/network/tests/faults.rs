//! Sites that misbehave: the browser gets an answer or an end, the session goes on.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rig::*;
use crate::network::{Limits, NetEvent};

/// Says these bytes after the first request and hangs up.
async fn saying(bytes: impl Into<Vec<u8>>) -> (std::net::SocketAddr, tokio::task::JoinSet<()>) {
    let bytes: Vec<u8> = bytes.into();
    raw_site(move |mut stream| {
        let bytes = bytes.clone();
        async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

fn impatient(address: std::net::SocketAddr) -> crate::network::ProxyConfig {
    let mut config = config([mapped("http://code.test", address)]);
    config.limits = Limits {
        connections: 4,
        head: Duration::from_millis(200),
        idle: Duration::from_millis(400),
        connect: PATIENCE,
        answer: Duration::from_millis(200),
    };
    config
}

#[tokio::test]
async fn f46_answers_that_are_no_http_become_502() {
    for (what, bytes) in [
        ("HTTP/0.9", b"<h1>hi</h1>".to_vec()),
        ("nothing", Vec::new()),
        ("half a head", b"HTTP/1.1 200 OK\r\nContent-".to_vec()),
        (
            "endless headers",
            [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'a'; 70_000]].concat(),
        ),
        (
            "two lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_vec(),
        ),
        ("odd status", b"HTTP/1.1 2x0 OK\r\n\r\n".to_vec()),
        (
            "proxy's question",
            b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n".to_vec(),
        ),
        ("interim for ever", b"HTTP/1.1 103 Early\r\n\r\n".repeat(30)),
    ] {
        let (address, _site) = saying(bytes).await;
        let mut rig = rig(config([mapped("http://code.test", address)])).await;
        assert_eq!(rig.get("http://code.test/").await.status, 502, "{what}");
        assert!(!rig.failed().await.is_empty(), "{what}");
    }
}

#[tokio::test]
async fn f46_a_body_cut_short_is_an_error_and_not_a_whole_page() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
    ] {
        let (address, _site) = saying(bytes).await;
        let mut rig = rig(config([mapped("http://code.test", address)])).await;
        let mut client = rig.client().await;
        client
            .send(&request("GET", "http://code.test/", "", ""))
            .await;
        assert_eq!(client.head().await.unwrap().status, 200);
        assert!(!client.rest().await.contains("0\r\n\r\n"));
        let whole = rig
            .event(|event| match event {
                NetEvent::Finished { whole, .. } => Some(whole),
                _ => None,
            })
            .await;
        assert!(!whole);
    }
}

#[tokio::test]
async fn chunks_beside_a_length_win_and_the_length_is_dropped() {
    let (address, _site) =
        saying("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n").await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    let answer = rig.get("http://code.test/").await;
    assert!(
        answer.text.ends_with("5\r\nhello\r\n0\r\n\r\n"),
        "{}",
        answer.text
    );
    assert!(!answer.text.contains("Content-Length"));
}

#[tokio::test]
async fn an_answer_that_ends_with_the_connection_ends_ours() {
    let (address, _site) = saying("HTTP/1.1 200 OK\r\n\r\nall of it").await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    let mut client = rig.client().await;
    client
        .send(&request("GET", "http://code.test/", "", ""))
        .await;
    let all = client.rest().await;
    assert_eq!(all, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it");
}

#[tokio::test]
async fn f46_a_site_that_refuses_becomes_502() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut rig = rig(config([mapped("http://code.test", address)])).await;
    assert_eq!(rig.get("http://code.test/").await.status, 502);
    assert!(rig.failed().await.contains("can't connect"));
}

#[tokio::test]
async fn f46_a_site_that_never_answers_becomes_504() {
    let (address, _site) = raw_site(|mut stream| async move {
        let mut buffer = [0; 4096];
        while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
    })
    .await;
    let mut rig = rig(impatient(address)).await;
    assert_eq!(rig.get("http://code.test/").await.status, 504);
    assert_eq!(rig.failed().await, "no answer in time");
}

#[tokio::test]
async fn f7_a_slow_site_is_passed_on_byte_by_byte() {
    let (go, wait) = tokio::sync::watch::channel(0usize);
    let (address, _site) = raw_site(move |mut stream| {
        let mut wait = wait.clone();
        async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
                .await;
            for (n, byte) in [b'a', b'b', b'c'].iter().enumerate() {
                wait.wait_for(|sent| *sent > n).await.unwrap();
                let _ = stream.write_all(&[*byte]).await;
            }
        }
    })
    .await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    let mut client = rig.client().await;
    client
        .send(&request("GET", "http://code.test/", "", ""))
        .await;
    assert_eq!(client.head().await.unwrap().status, 200);
    for (n, mark) in ["a", "b", "c"].into_iter().enumerate() {
        go.send_replace(n + 1);
        assert_eq!(client.until(mark).await.as_deref(), Some(mark));
    }
}

#[tokio::test]
async fn f46_a_kept_connection_that_died_is_replaced_for_reads_only() {
    // Every connection answers once and hangs up without saying so.
    let (address, _site) = saying(ok("once")).await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    rig.config.gate.lock().unwrap().open_window("posts");
    let mut client = rig.client().await;
    for method in ["GET", "GET", "POST", "GET"] {
        client
            .send(&request(method, "http://code.test/", "", ""))
            .await;
        assert_eq!(client.answer().await.unwrap().status, 200, "{method}");
    }
}

#[tokio::test]
async fn f51_a_write_is_never_sent_twice() {
    // Every connection answers one request, takes a second and hangs up.
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = seen.clone();
    let (address, _site) = raw_site(move |mut stream| {
        let log = log.clone();
        async move {
            let mut buffer = [0; 4096];
            for turn in 0..2 {
                let Ok(n @ 1..) = stream.read(&mut buffer).await else {
                    return;
                };
                log.lock()
                    .unwrap()
                    .push(String::from_utf8_lossy(&buffer[..n]).into_owned());
                if turn == 0 {
                    let _ = stream.write_all(&ok("first")).await;
                }
            }
        }
    })
    .await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    rig.config.gate.lock().unwrap().open_window("posts");
    let mut client = rig.client().await;
    for method in ["GET", "POST"] {
        client
            .send(&request(method, "http://code.test/", "", ""))
            .await;
        assert_eq!(client.answer().await.unwrap().status, 200, "{method}");
    }
    let posts = seen
        .lock()
        .unwrap()
        .iter()
        .filter(|r| r.starts_with("POST"))
        .count();
    assert_eq!(posts, 1);
}

#[tokio::test]
async fn an_early_answer_to_an_upload_is_passed_on() {
    let (address, _site) = saying("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    rig.config.gate.lock().unwrap().open_window("uploads");
    let mut client = rig.client().await;
    client
        .send("POST http://code.test/ HTTP/1.1\r\nHost: code.test\r\nContent-Length: 1000000\r\n\r\nabc")
        .await;
    assert_eq!(client.head().await.unwrap().status, 413);
}

#[tokio::test]
async fn slow_and_idle_clients_make_room_for_others() {
    let site = site().await;
    let rig = rig(impatient(site.address)).await;
    let mut slow = Vec::new();
    for n in 0..8 {
        let mut client = rig.client().await;
        if n % 2 == 0 {
            client.send("GET http://code.test/ HT").await;
        }
        slow.push(client);
    }
    assert_eq!(rig.get("http://code.test/").await.status, 200);
    for client in &mut slow {
        client.rest().await;
    }
}

#[tokio::test]
async fn f46_the_session_goes_on_after_every_fault() {
    let good = site().await;
    let (bad, _site) = saying("garbage").await;
    let rig = rig(config([
        mapped("http://code.test", good.address),
        mapped("http://bad.test", bad),
    ]))
    .await;
    for _ in 0..3 {
        assert_eq!(rig.get("http://bad.test/").await.status, 502);
        assert_eq!(rig.get("http://code.test/").await.status, 200);
    }
}
