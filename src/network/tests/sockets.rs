use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rig::*;

const UPGRADE: &str =
    "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n";

/// Answers an upgrade, then echoes.
async fn echo() -> (std::net::SocketAddr, tokio::task::JoinSet<()>) {
    raw_site(|mut stream| async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let Ok(byte) = stream.read_u8().await else {
                return;
            };
            head.push(byte);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(
            head.contains("Upgrade: websocket\r\n") && head.contains("Sec-WebSocket-Key: x\r\n")
        );
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        let (mut r, mut w) = stream.split();
        let _ = tokio::io::copy(&mut r, &mut w).await;
    })
    .await
}

#[tokio::test]
async fn r74_a_websocket_to_a_listed_host_is_carried_and_counts_as_a_stream() {
    let (address, _site) = echo().await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    // Browsers open ws: through a tunnel to port 80.
    let mut client = rig.client().await;
    client.send(&connect("code.test:80")).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client
        .send(&inner("GET", "/socket", "code.test", UPGRADE, ""))
        .await;
    assert_eq!(client.head().await.unwrap().status, 101);
    client.send("ping!").await;
    assert_eq!(client.until("!").await.unwrap(), "ping!");
    let quiet = *rig.proxy.quiet().borrow();
    assert_eq!((quiet.in_flight, quiet.streams), (0, 1));
}

#[tokio::test]
async fn r74_a_websocket_to_another_host_is_refused() {
    let (address, _site) = echo().await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    assert_eq!(rig.say(&connect("evil.test:80")).await.status, 403);
    let absolute = request("GET", "http://evil.test/socket", UPGRADE, "");
    assert_eq!(rig.say(&absolute).await.status, 403);
    let mut client = rig.client().await;
    client.send(&connect("code.test:80")).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client
        .send(&inner("GET", "/socket", "evil.test", UPGRADE, ""))
        .await;
    assert_eq!(client.answer().await.unwrap().status, 400);
}

#[tokio::test]
async fn an_upgrade_nobody_asked_for_is_no_answer() {
    let site =
        answering(|_| b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".to_vec()).await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    assert_eq!(rig.get("http://code.test/").await.status, 502);
    let post = request(
        "GET",
        "http://code.test/",
        "Connection: Upgrade\r\nUpgrade: h2c\r\n",
        "",
    );
    assert_eq!(rig.say(&post).await.status, 502);
    assert!(!site.seen().concat().contains("h2c"));
}
