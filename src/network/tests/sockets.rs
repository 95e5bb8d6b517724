use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rig::*;
use crate::policy::Origin;

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
    let mut client = socket(&rig, "code.test").await;
    client.send("ping!").await;
    assert_eq!(client.until("!").await.unwrap(), "ping!");
    let quiet = *rig.proxy.quiet().borrow();
    assert_eq!((quiet.in_flight, quiet.streams), (0, 1));
}

/// How a message begins; without a mask, so that all of it is text.
const FRAME: &[u8] = b"\x01\x05hello";

/// An open socket to `host`, its answer read.
async fn socket(rig: &Rig, host: &str) -> Client {
    let mut client = rig.client().await;
    client.send(&connect(&format!("{host}:80"))).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client
        .send(&inner("GET", "/socket", host, UPGRADE, ""))
        .await;
    assert_eq!(client.head().await.unwrap().status, 101);
    client
}

#[tokio::test]
async fn r74_sockets_and_their_messages_are_counted_by_place() {
    let (address, _site) = echo().await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    let mut client = socket(&rig, "code.test").await;
    for _ in 0..2 {
        client.send(FRAME).await;
        assert!(client.until("hello").await.is_some());
    }
    let counted = rig.proxy.sockets();
    let [count] = counted.as_slice() else {
        panic!("{counted:?}");
    };
    let told = (count.place.as_str(), count.opened, count.sent);
    assert_eq!(told, ("ws://code.test", 1, 2));
}

#[tokio::test]
async fn r74_while_a_secret_is_entered_sockets_lead_to_its_origin_alone() {
    let (address, _site) = echo().await;
    let rules = [
        mapped("http://code.test", address),
        mapped("http://other.test", address),
    ];
    let mut rig = rig(config(rules)).await;
    let mut other = socket(&rig, "other.test").await;
    let mut own = socket(&rig, "code.test").await;
    let origin = Origin::parse("http://code.test").unwrap();
    rig.proxy.set_entering(Some(origin));
    assert!(other.until("!").await.is_none(), "it is cut");
    assert_eq!(rig.blocked().await.host, "other.test");
    own.send("still there!").await;
    assert_eq!(own.until("!").await.unwrap(), "still there!");
    let asked = request("GET", "http://other.test/socket", UPGRADE, "");
    assert_eq!(rig.say(&asked).await.status, 403);
    assert_eq!(
        rig.blocked().await.reason,
        "socket to another host during a sign-in"
    );
    rig.proxy.set_entering(None);
    socket(&rig, "other.test").await;
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
