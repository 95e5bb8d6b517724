use std::sync::Arc;

use super::rig::*;
use crate::network::reach::is_public;
use crate::network::{DenyAll, Internal, InternalAnswer, NetEvent, browser_own};
use crate::policy::{HostRule, Scheme};

#[tokio::test]
async fn r71_a_listed_host_is_reached_and_its_relatives_are_not() {
    let site = site().await;
    let mut rig = rig(config([mapped("http://code.test", site.address)])).await;
    let answer = rig.get("http://code.test/a?b=c").await;
    assert_eq!(answer.status, 200);
    assert!(answer.text.ends_with("hello"));
    for address in [
        "http://www.code.test/",
        "http://test/",
        "http://code.test:81/",
        "http://code.test./",
        "http://evilcode.test/",
        "http://code.test.evil.test/",
    ] {
        assert_eq!(rig.get(address).await.status, 403, "{address}");
    }
    let seen = site.seen();
    assert_eq!(seen.len(), 1);
    assert!(
        seen[0].starts_with("GET /a?b=c HTTP/1.1\r\nHost: code.test\r\n"),
        "{}",
        seen[0]
    );
    assert_eq!(rig.blocked().await.reason, "host not listed");
    assert_eq!(rig.proxy.denied().len(), 6);
}

#[tokio::test]
async fn r71_a_tunnel_is_judged_by_host_and_port() {
    let site = site().await;
    let mut rig = rig(config([mapped("https://code.test", site.address)])).await;
    for place in [
        "code.test:444",
        "code.test:80",
        "evil.test:443",
        "code.test.:443",
        "127.0.0.1:443",
    ] {
        let answer = rig.say(&connect(place)).await;
        assert_eq!(answer.status, 403, "{place}");
        let blocked = rig.blocked().await;
        assert_eq!((blocked.method, blocked.path), (None, None));
    }
    for line in [
        "code.test",
        "user@code.test:443",
        "code.test:443/x",
        "code.test:0",
        "0x7f.1:443",
        ":443",
    ] {
        assert_eq!(rig.say(&connect(line)).await.status, 400, "{line}");
        let without_host = format!("CONNECT {line} HTTP/1.1\r\n\r\n");
        assert_eq!(rig.say(&without_host).await.status, 400, "{line}");
    }
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn r71_plain_text_in_a_tunnel_to_an_https_host_goes_nowhere() {
    let site = site().await;
    let mut rig = rig(config([mapped("https://code.test", site.address)])).await;
    let mut client = rig.client().await;
    client.send(&connect("code.test:443")).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client
        .send("GET / HTTP/1.1\r\nHost: code.test\r\n\r\n")
        .await;
    assert_eq!(client.rest().await, "");
    assert_eq!(rig.blocked().await.reason, "scheme not listed");
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn r70_only_http_addresses_are_asked_for() {
    let site = site().await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    for target in [
        "/",
        "ftp://code.test/",
        "https://code.test/",
        "file:///etc/hostname",
        "*",
        "http:///",
    ] {
        let answer = rig.say(&inner("GET", target, "code.test", "", "")).await;
        assert!(matches!(answer.status, 400 | 403), "{target}: {answer:?}");
    }
    let userinfo = rig
        .say(&inner(
            "GET",
            "http://code.test@evil.test/",
            "evil.test",
            "",
            "",
        ))
        .await;
    assert_eq!(userinfo.status, 403);
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn r77_fifty_third_parties_leave_the_list_as_it_was() {
    let site = site().await;
    let rig = rig(config([mapped("http://code.test", site.address)])).await;
    let before = rig.proxy.allowed();
    for n in 0..50 {
        assert_eq!(
            rig.get(&format!("http://cdn{n}.example/pixel.png"))
                .await
                .status,
            403
        );
    }
    let after = rig.proxy.allowed();
    assert_eq!(after.version(), before.version());
    assert_eq!(after.rules(), before.rules());
}

#[tokio::test]
async fn r75_an_added_host_is_reached_only_from_then_on() {
    let (first, second) = (site().await, site().await);
    let rig = rig(config([mapped("http://a.test", first.address)])).await;
    assert_eq!(rig.get("http://b.test/").await.status, 403);
    rig.proxy.set_allow(
        rig.proxy
            .allowed()
            .with(mapped("http://b.test", second.address)),
    );
    assert_eq!(rig.get("http://b.test/").await.status, 200);
    assert_eq!(second.seen().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_passed_on_and_its_target_judged_by_itself() {
    let site = answering(|_| {
        b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/x\r\nContent-Length: 0\r\n\r\n".to_vec()
    })
    .await;
    let mut rig = rig(config([mapped("http://code.test", site.address)])).await;
    assert_eq!(rig.get("http://code.test/").await.status, 302);
    let redirect = rig
        .event(|event| match event {
            NetEvent::Answered {
                redirect,
                status: 302,
                ..
            } => redirect,
            _ => None,
        })
        .await;
    assert_eq!(redirect, "http://evil.test/x");
    assert_eq!(rig.get("http://evil.test/x").await.status, 403);
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_unless_marked_private() {
    let site = site().await;
    let entry = format!("http://localhost:{}", site.address.port());
    let rule = HostRule::parse(&entry, Scheme::Http).unwrap();
    let mut strict = rig(config([rule.clone()])).await;
    assert_eq!(strict.get(&format!("{entry}/")).await.status, 403);
    let blocked = strict.blocked().await;
    assert_eq!(blocked.reason, "private address");
    assert!(blocked.detail.unwrap().contains("private: true"));
    assert!(site.seen().is_empty());

    let marked = rig(config([rule.private()])).await;
    assert_eq!(marked.get(&format!("{entry}/")).await.status, 200);
}

#[tokio::test]
async fn a_listed_loopback_address_needs_the_mark_too() {
    let site = site().await;
    let entry = format!("http://{}", site.address);
    let rule = HostRule::parse(&entry, Scheme::Http).unwrap();
    let strict = rig(config([rule.clone()])).await;
    assert_eq!(strict.get(&format!("{entry}/")).await.status, 403);
    let marked = rig(config([rule.private()])).await;
    assert_eq!(marked.get(&format!("{entry}/")).await.status, 200);
}

#[test]
fn special_addresses_are_not_public() {
    for address in [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "192.0.2.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "fec0::1",
        "ff02::1",
        "::ffff:8.8.8.8",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
    ] {
        assert!(!is_public(address.parse().unwrap()), "{address}");
    }
    for address in [
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "192.1.0.1",
        "2606:4700::1111",
        "2a00:1450::1",
    ] {
        assert!(is_public(address.parse().unwrap()), "{address}");
    }
}

#[tokio::test]
async fn a_secret_in_an_address_is_stopped_however_it_is_encoded() {
    let site = site().await;
    let mut config = config([
        mapped("http://code.test", site.address),
        mapped("http://kitten.code.test", site.address),
    ]);
    config.secret_in_url = Arc::new(|text: &str| text.contains("kitten"));
    let mut rig = rig(config).await;
    for address in [
        "http://code.test/?password=kitten",
        "http://code.test/kitten/x",
        "http://code.test/?q=%6bitten",
        "http://kitten.code.test/",
        "http://kitten.evil.test/",
        "http://evil.test/kitten",
    ] {
        assert_eq!(rig.get(address).await.status, 403, "{address}");
        assert_eq!(rig.blocked().await.reason, "secret in url");
    }
    assert_eq!(rig.get("http://code.test/?q=dog").await.status, 200);
    assert_eq!(site.seen().len(), 1);
}

#[tokio::test]
async fn ten_thousand_denied_hosts_take_no_memory() {
    let mut rig = rig(config([])).await;
    let mut client = rig.client().await;
    for n in 0..10_000 {
        client
            .send(&request("GET", &format!("http://h{n}.evil.test/"), "", ""))
            .await;
        assert_eq!(client.answer().await.unwrap().status, 403);
    }
    assert_eq!(rig.proxy.denied().len(), 256);
    assert_eq!(rig.proxy.denied_beyond(), 10_000 - 256);
    let mut told = 0;
    while rig.events.try_recv().is_ok() {
        told += 1;
    }
    assert_eq!(told, 256);
}

#[tokio::test]
async fn many_denials_of_one_host_are_told_seldom_and_counted_all() {
    let mut rig = rig(config([])).await;
    let mut client = rig.client().await;
    for _ in 0..100 {
        client
            .send(&request("GET", "http://evil.test/", "", ""))
            .await;
        assert_eq!(client.answer().await.unwrap().status, 403);
    }
    let mut times = Vec::new();
    while let Ok(NetEvent::Blocked(blocked)) = rig.events.try_recv() {
        times.push(blocked.times);
    }
    assert_eq!(times, [1, 1, 1, 1, 1, 5, 90]);
    assert_eq!(rig.proxy.denied()[0].times, 100);
}

#[tokio::test]
async fn the_browsers_own_calls_are_told_apart() {
    let mut rig = rig(config([])).await;
    rig.say(&connect("accounts.google.com:443")).await;
    assert!(rig.blocked().await.browser_own);
    rig.say(&connect("evil.test:443")).await;
    assert!(!rig.blocked().await.browser_own);
    assert!(browser_own("firefox.settings.services.mozilla.com"));
    assert!(!browser_own("accounts.google.com.evil.test"));
}

#[tokio::test]
async fn the_internal_page_is_answered_on_its_own_name_only() {
    let mut config = config([]);
    config.internal = Some(Internal {
        host: "rehearsal-check.invalid".to_owned(),
        answer: Arc::new(|path| InternalAnswer {
            status: 200,
            content_type: "text/plain",
            body: path.as_bytes().to_vec(),
        }),
    });
    let rig = rig(config).await;
    let answer = rig.get("http://rehearsal-check.invalid/vectors?x").await;
    assert_eq!(answer.status, 200);
    assert!(answer.text.ends_with("\r\n\r\n/vectors"), "{}", answer.text);
    assert_eq!(
        rig.get("http://x.rehearsal-check.invalid/").await.status,
        403
    );
    let other = inner(
        "GET",
        "http://rehearsal-check.invalid/",
        "evil.test",
        "",
        "",
    );
    assert_eq!(rig.say(&other).await.status, 400);
}

#[tokio::test]
async fn the_launch_proxy_denies_everything_and_counts() {
    let proxy = DenyAll::start("127.0.0.1".parse().unwrap()).await.unwrap();
    for bytes in [
        connect("accounts.google.com:443"),
        request("GET", "http://code.test/", "", ""),
    ] {
        let stream = tokio::net::TcpStream::connect(proxy.address())
            .await
            .unwrap();
        let mut client = Client::over(stream);
        client.send(&bytes).await;
        assert_eq!(client.answer().await.unwrap().status, 403);
    }
    assert_eq!(proxy.denied(), 2);
    let address = proxy.address();
    proxy.shutdown().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
