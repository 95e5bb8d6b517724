use super::rig::*;
use crate::network::{Mode, NetworkError, Trust};

const PLACE: &str = "code.test:443";

#[tokio::test]
async fn r89_methods_inside_https_are_judged() {
    let (tls, ca, _) = tls_site("code.test");
    let site = serving(|_| ok("hello"), Some(tls)).await;
    let mut config = config([mapped("https://code.test", site.address)]);
    config.trust = Trust::only([ca]);
    let mut rig = rig(config).await;
    let mut client = rig.secure(PLACE).await;
    client
        .send(&inner("GET", "/a?b=c", "code.test", "", ""))
        .await;
    assert_eq!(client.answer().await.unwrap().status, 200);
    client
        .send(&inner("DELETE", "/all", "code.test", "", ""))
        .await;
    assert_eq!(client.answer().await.unwrap().status, 403);
    client
        .send(&inner("GET", "/again", "code.test:443", "", ""))
        .await;
    assert_eq!(
        client.answer().await.unwrap().status,
        200,
        "the connection is kept"
    );
    let blocked = rig.blocked().await;
    assert_eq!(
        (blocked.reason, blocked.path.as_deref()),
        ("undeclared write", Some("/all"))
    );
    let seen = site.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[0].starts_with("GET /a?b=c HTTP/1.1\r\nHost: code.test\r\n"));
}

#[tokio::test]
async fn a_tunnel_serves_its_own_place_only() {
    let (tls, ca, _) = tls_site("code.test");
    let site = serving(|_| ok("hello"), Some(tls)).await;
    let rules = [
        mapped("https://code.test", site.address),
        mapped("https://other.test", site.address),
    ];
    let mut config = config(rules);
    config.trust = Trust::only([ca]);
    let rig = rig(config).await;
    for (target, host) in [
        ("/", "other.test"),
        ("/", "code.test:444"),
        ("https://other.test/", "other.test"),
        ("https://code.test/", "code.test"),
        ("*", "code.test"),
    ] {
        let mut client = rig.secure(PLACE).await;
        client.send(&inner("GET", target, host, "", "")).await;
        assert_eq!(
            client.answer().await.unwrap().status,
            400,
            "{target} {host}"
        );
    }
    let mut client = rig.secure(PLACE).await;
    client.send(&connect("other.test:443")).await;
    assert_eq!(client.answer().await.unwrap().status, 400);
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn a_site_whose_certificate_is_not_trusted_is_not_reached() {
    let (tls, _, _) = tls_site("code.test");
    let (_, other_ca, _) = tls_site("code.test");
    let site = serving(|_| ok("hello"), Some(tls)).await;
    let mut config = config([mapped("https://code.test", site.address)]);
    config.trust = Trust::only([other_ca]);
    let mut rig = rig(config).await;
    let mut client = rig.secure(PLACE).await;
    client.send(&inner("GET", "/", "code.test", "", "")).await;
    assert_eq!(client.answer().await.unwrap().status, 502);
    assert!(rig.failed().await.starts_with("certificate not trusted"));
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_trusted() {
    let (tls, ca, _) = tls_site("other.test");
    let site = serving(|_| ok("hello"), Some(tls)).await;
    let mut config = config([mapped("https://code.test", site.address)]);
    config.trust = Trust::only([ca]);
    let mut rig = rig(config).await;
    let mut client = rig.secure(PLACE).await;
    client.send(&inner("GET", "/", "code.test", "", "")).await;
    assert_eq!(client.answer().await.unwrap().status, 502);
    assert!(rig.failed().await.starts_with("certificate not trusted"));
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn an_extra_root_comes_from_a_pem_file() {
    let (tls, _, pem) = tls_site("code.test");
    let site = serving(|_| ok("hello"), Some(tls)).await;
    let mut config = config([mapped("https://code.test", site.address)]);
    config.trust = Trust::system(Some(pem.as_bytes())).unwrap();
    let rig = rig(config).await;
    let mut client = rig.secure(PLACE).await;
    client.send(&inner("GET", "/", "code.test", "", "")).await;
    assert_eq!(client.answer().await.unwrap().status, 200);
    for broken in [
        "",
        "no certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let error = Trust::system(Some(broken.as_bytes())).unwrap_err();
        assert!(matches!(error, NetworkError::CaFile { .. }), "{broken}");
    }
}

#[tokio::test]
async fn the_runs_authority_is_trusted_by_no_other_run() {
    let site = site().await;
    let rig = rig(config([mapped("https://code.test", site.address)])).await;
    let other = crate::network::Authority::new().unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(other.certificate().clone()).unwrap();
    assert!(rig.secure_by(PLACE, roots).await.is_err());
}

#[tokio::test]
async fn in_tunnel_mode_the_site_shows_its_own_certificate() {
    let (tls, ca, _) = tls_site("code.test");
    let site = serving(|_| ok("hello"), Some(tls)).await;
    let mut config = config([mapped("https://code.test", site.address)]);
    config.mode = Mode::Tunnel;
    let rig = rig(config).await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ca).unwrap();
    let mut client = rig
        .secure_by(PLACE, roots)
        .await
        .expect("the site's own certificate");
    client
        .send(&inner("POST", "/", "code.test", "", "not judged"))
        .await;
    assert_eq!(client.answer().await.unwrap().status, 200);
    assert_eq!(rig.proxy.quiet().borrow().streams, 1);
    assert_eq!(rig.say(&connect("code.test:444")).await.status, 403);
}
