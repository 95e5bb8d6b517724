use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rig::*;
use crate::network::{Trust, UpstreamProxy};
use crate::policy::{HostRule, Scheme};

fn public(entry: &str) -> HostRule {
    HostRule::parse(entry, Scheme::Http).unwrap()
}

fn proxy_at(address: std::net::SocketAddr) -> Option<UpstreamProxy> {
    Some(UpstreamProxy::parse(&format!("http://ann:p%40ss@{address}")).unwrap())
}

#[tokio::test]
async fn plain_requests_go_to_the_upstream_proxy_whole() {
    let upstream = site().await;
    let mut config = config([public("http://shop.example")]);
    config.upstream = proxy_at(upstream.address);
    let rig = rig(config).await;
    assert_eq!(rig.get("http://shop.example/a?b=c").await.status, 200);
    let seen = upstream.seen();
    assert!(
        seen[0].starts_with("GET http://shop.example/a?b=c HTTP/1.1\r\nHost: shop.example\r\n")
    );
    assert!(
        seen[0].contains("Proxy-Authorization: Basic YW5uOnBAc3M=\r\n"),
        "{}",
        seen[0]
    );
}

#[tokio::test]
async fn https_goes_through_a_tunnel_of_the_upstream_proxy() {
    let (tls, ca, _) = tls_site("shop.example");
    let (address, _upstream) = raw_site(move |mut stream| {
        let tls = tls.clone();
        async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            assert!(
                head.starts_with("CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\n")
            );
            assert!(head.contains("Proxy-Authorization: Basic "));
            stream
                .write_all(b"HTTP/1.1 200 Connected\r\n\r\n")
                .await
                .unwrap();
            let mut stream = tls.accept(stream).await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            stream.write_all(&ok("through")).await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
        }
    })
    .await;
    let mut config = config([public("https://shop.example")]);
    config.upstream = proxy_at(address);
    config.trust = Trust::only([ca]);
    let rig = rig(config).await;
    let mut client = rig.secure("shop.example:443").await;
    client
        .send(&inner("GET", "/", "shop.example", "", ""))
        .await;
    assert!(client.answer().await.unwrap().text.ends_with("through"));
}

#[tokio::test]
async fn fixture_hosts_do_not_go_through_the_upstream_proxy() {
    let (upstream, site) = (site().await, site().await);
    let mut config = config([mapped("http://code.test", site.address)]);
    config.upstream = proxy_at(upstream.address);
    let rig = rig(config).await;
    assert_eq!(rig.get("http://code.test/").await.status, 200);
    assert!(upstream.seen().is_empty());
    assert_eq!(site.seen().len(), 1);
}

#[tokio::test]
async fn f46_an_upstream_proxy_that_refuses_or_never_answers_is_reported() {
    let refusing = answering(|_| b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let (silent, _task) = raw_site(|mut stream| async move {
        let mut buffer = [0; 4096];
        while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
    })
    .await;
    for (address, status, reason) in [
        (refusing.address, 502, "status 407"),
        (silent, 504, "in time"),
    ] {
        let mut config = config([public("https://shop.example")]);
        config.upstream = proxy_at(address);
        // Only the silent one is waited out.
        if status == 504 {
            config.limits.connect = Duration::from_millis(300);
        }
        let mut rig = rig(config).await;
        let mut client = rig.secure("shop.example:443").await;
        client
            .send(&inner("GET", "/", "shop.example", "", ""))
            .await;
        assert_eq!(client.answer().await.unwrap().status, status);
        let said = rig.failed().await;
        assert!(said.contains(reason), "{said}");
        assert!(!said.contains("p@ss"));
    }
}

#[test]
fn an_upstream_proxy_is_written_in_one_form() {
    for good in [
        "http://proxy.example:3128",
        "http://proxy.example",
        "http://[::1]:3128/",
    ] {
        assert!(UpstreamProxy::parse(good).is_ok(), "{good}");
    }
    for bad in [
        "proxy.example:3128",
        "https://proxy.example",
        "socks5://proxy.example",
        "http://p/x",
        "",
    ] {
        let error = UpstreamProxy::parse(bad).err().expect(bad).to_string();
        assert!(error.contains("http://proxy.example:3128"), "{error}");
    }
}
