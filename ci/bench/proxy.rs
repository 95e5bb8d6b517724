//! What the proxy costs: the same small request straight to a local server, through a tunnel, and
//! through the inspecting proxy, on kept connections and on fresh ones.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rehearsal::network::{Authority, Mode, Proxy, ProxyConfig, Trust, install_crypto};
use rehearsal::policy::{AllowSet, Gate, HostRule, Scheme};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::figures::{load, median};

const HOST: &str = "shop.test";
const ROUNDS: usize = 400;
const FRESH: usize = 60;
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello";

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
type Open = Box<dyn Stream>;

/// One way to the server.
struct Way {
    name: &'static str,
    /// `None`: straight there.
    proxy: Option<SocketAddr>,
    secure: bool,
    roots: rustls::RootCertStore,
    site: SocketAddr,
}

pub async fn run(_: &[String]) {
    install_crypto();
    let (plain, secure, certificate) = sites().await;
    let (inspect, by_inspect) = proxy(Mode::Inspect, plain, secure, &certificate).await;
    let (tunnel, _) = proxy(Mode::Tunnel, plain, secure, &certificate).await;
    let theirs = roots(&certificate);
    let way = |name, proxy: Option<&Proxy>, secure_: bool, roots: &rustls::RootCertStore| Way {
        name,
        proxy: proxy.map(Proxy::address),
        secure: secure_,
        roots: roots.clone(),
        site: if secure_ { secure } else { plain },
    };
    let ways = [
        way("http direct", None, false, &theirs),
        way("http inspect", Some(&inspect), false, &theirs),
        way("https direct", None, true, &theirs),
        way("https tunnel", Some(&tunnel), true, &theirs),
        way("https inspect", Some(&inspect), true, &by_inspect),
    ];
    let mut open = Vec::new();
    for way in &ways {
        open.push(way.connect().await);
    }
    let (mut kept, mut fresh) = (vec![Vec::new(); ways.len()], vec![Vec::new(); ways.len()]);
    // One request of each way after the other, so that all meet the same load.
    for _ in 0..ROUNDS {
        for (i, way) in ways.iter().enumerate() {
            kept[i].push(ask(&mut open[i], &way.request()).await);
        }
    }
    for _ in 0..FRESH {
        for (i, way) in ways.iter().enumerate() {
            let began = Instant::now();
            let mut stream = way.connect().await;
            ask(&mut stream, &way.request()).await;
            fresh[i].push(ms(began.elapsed()));
        }
    }
    println!(
        "{}; medians in ms, {ROUNDS} requests on a kept connection, {FRESH} on fresh ones",
        load()
    );
    println!(
        "{:15} {:>8} {:>9} {:>8} {:>9}",
        "way", "kept", "overhead", "fresh", "overhead"
    );
    for (i, way) in ways.iter().enumerate() {
        let base = if way.secure { 2 } else { 0 };
        let over = |of: &[Vec<f64>]| median(&of[i]) - median(&of[base]);
        println!(
            "{:15} {:>8.3} {:>9.3} {:>8.3} {:>9.3}",
            way.name,
            median(&kept[i]),
            over(&kept),
            median(&fresh[i]),
            over(&fresh)
        );
    }
}

impl Way {
    fn request(&self) -> String {
        let target = if self.proxy.is_some() && !self.secure {
            "http://shop.test"
        } else {
            ""
        };
        format!("GET {target}/stock HTTP/1.1\r\nHost: {HOST}\r\nAccept: */*\r\n\r\n")
    }

    async fn connect(&self) -> Open {
        let mut stream = TcpStream::connect(self.proxy.unwrap_or(self.site))
            .await
            .expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        if !self.secure {
            return Box::new(stream);
        }
        if self.proxy.is_some() {
            let ask = format!("CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n");
            stream.write_all(ask.as_bytes()).await.expect("asked");
            let head = until_blank(&mut stream).await;
            assert!(
                head.starts_with(b"HTTP/1.1 200"),
                "{}",
                String::from_utf8_lossy(&head)
            );
        }
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let name = ServerName::try_from(HOST).expect("a name");
        let connector = TlsConnector::from(Arc::new(config));
        Box::new(connector.connect(name, stream).await.expect("a handshake"))
    }
}

async fn ask(stream: &mut Open, request: &str) -> f64 {
    let began = Instant::now();
    stream.write_all(request.as_bytes()).await.expect("sent");
    stream.flush().await.expect("sent");
    let head = until_blank(stream).await;
    assert!(
        head.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&head)
    );
    let mut body = [0; 5];
    stream.read_exact(&mut body).await.expect("a body");
    ms(began.elapsed())
}

async fn until_blank(stream: &mut (impl AsyncRead + Unpin + ?Sized)) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    head
}

fn roots(certificate: &CertificateDer<'static>) -> rustls::RootCertStore {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    roots
}

async fn proxy(
    mode: Mode,
    plain: SocketAddr,
    secure: SocketAddr,
    certificate: &CertificateDer<'static>,
) -> (Proxy, rustls::RootCertStore) {
    let rule = |entry: &str, to| {
        HostRule::parse(entry, Scheme::Http)
            .expect("a rule")
            .mapped(to)
    };
    let allow = AllowSet::new([
        rule("http://shop.test", plain),
        rule("https://shop.test", secure),
    ]);
    let authority = Arc::new(Authority::new().expect("an authority"));
    let trusted = roots(authority.certificate());
    let gate = Arc::new(Mutex::new(Gate::default()));
    let mut config = ProxyConfig::new(allow, gate, authority, Trust::only([certificate.clone()]));
    config.mode = mode;
    (Proxy::start(config).await.expect("a proxy"), trusted)
}

/// A plain site, a secure one, and the certificate to trust for it.
async fn sites() -> (SocketAddr, SocketAddr, CertificateDer<'static>) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut authority = rcgen::CertificateParams::default();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root = authority
        .self_signed(&key)
        .expect("a certificate")
        .der()
        .clone();
    let issuer = rcgen::Issuer::new(authority, key);
    let own = rcgen::KeyPair::generate().expect("a key");
    let leaf = rcgen::CertificateParams::new(vec![HOST.to_owned()])
        .and_then(|params| params.signed_by(&own, &issuer))
        .expect("a certificate");
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            PrivateKeyDer::Pkcs8(own.serialize_der().into()),
        )
        .expect("a server");
    let tls = TlsAcceptor::from(Arc::new(config));
    (site(None).await, site(Some(tls)).await, root)
}

async fn site(tls: Option<TlsAcceptor>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tls = tls.clone();
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let mut stream: Open = match tls {
                    None => Box::new(stream),
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => Box::new(stream),
                        Err(_) => return,
                    },
                };
                answer_all(&mut stream).await;
            });
        }
    });
    address
}

async fn answer_all(stream: &mut Open) {
    let mut head = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        match stream.read(&mut buffer).await {
            Ok(n) if n > 0 => head.extend_from_slice(&buffer[..n]),
            _ => return,
        }
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            if stream.write_all(ANSWER).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
    }
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}
