use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::network::wire::Stream;
use crate::network::{
    Authority, BlockedRequest, NetEvent, Proxy, ProxyConfig, Trust, install_crypto,
};
use crate::policy::{AllowSet, Gate, HostRule, SafeRequest, Scheme, WriteRule};

/// Only to turn a hang into a failure.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what)
        .await
        .expect("nothing came for a long time")
}

// ---- sites ---------------------------------------------------------------------------------

/// Records requests (head and body as text) and answers each by a function.
pub struct Site {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

impl Site {
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

pub fn ok(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nContent-Type: text/plain\r\n\r\n{body}")
        .into_bytes()
}

type Answering = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

pub async fn site() -> Site {
    serving(|_| ok("hello"), None).await
}

pub async fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Site {
    serving(answer, None).await
}

pub async fn serving(
    answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    tls: Option<TlsAcceptor>,
) -> Site {
    let answer: Answering = Arc::new(answer);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = seen.clone();
    let (address, task) = raw_site(move |stream| {
        let (answer, log, tls) = (answer.clone(), log.clone(), tls.clone());
        async move {
            let stream: Box<dyn Stream> = match tls {
                None => Box::new(stream),
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => Box::new(stream),
                    Err(_) => return,
                },
            };
            answer_all(stream, &answer, &log).await;
        }
    })
    .await;
    Site {
        address,
        seen,
        _task: task,
    }
}

async fn answer_all(mut stream: Box<dyn Stream>, answer: &Answering, log: &Mutex<Vec<String>>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_message(&mut stream, &mut buffer).await {
        log.lock().unwrap().push(request.clone());
        if stream.write_all(&answer(&request)).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// Every connection is handed to `each`.
pub async fn raw_site<F, Fut>(each: F) -> (SocketAddr, JoinSet<()>)
where
    F: Fn(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(each(stream));
        }
    });
    (address, task)
}

/// Head and body by `Content-Length` or chunks; else the head, or everything to the end.
async fn read_message(stream: &mut Box<dyn Stream>, buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = message_end(buffer) {
            let message: Vec<u8> = buffer.drain(..end).collect();
            return Some(String::from_utf8_lossy(&message).into_owned());
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => buffer.extend_from_slice(&chunk[..n]),
            _ => return None,
        }
    }
}

fn message_end(buffer: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(buffer);
    let head = text.find("\r\n\r\n")? + 4;
    let lower = text[..head].to_ascii_lowercase();
    if lower.contains("transfer-encoding: chunked") {
        let end = text[head..].find("0\r\n\r\n")?;
        return Some(head + end + 5);
    }
    let length = lower.split("content-length: ").nth(1).map_or(0, |rest| {
        rest.split("\r\n").next().unwrap().parse::<usize>().unwrap()
    });
    (buffer.len() >= head + length).then_some(head + length)
}

// ---- TLS of a site -------------------------------------------------------------------------

/// A certificate authority the proxy can be told to trust, and a server certificate by it.
pub fn tls_site(host: &str) -> (TlsAcceptor, CertificateDer<'static>, String) {
    install_crypto();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(params, key);
    let leaf_key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec![host.to_owned()])
        .unwrap()
        .signed_by(&leaf_key, &issuer)
        .unwrap();
    let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], der)
        .unwrap();
    (
        TlsAcceptor::from(Arc::new(config)),
        ca.der().clone(),
        ca.pem(),
    )
}

// ---- the proxy -----------------------------------------------------------------------------

pub fn mapped(entry: &str, address: SocketAddr) -> HostRule {
    HostRule::parse(entry, Scheme::Http)
        .unwrap()
        .mapped(address)
}

pub fn config(rules: impl IntoIterator<Item = HostRule>) -> ProxyConfig {
    gated(rules, Gate::default())
}

pub fn gated(rules: impl IntoIterator<Item = HostRule>, gate: Gate) -> ProxyConfig {
    ProxyConfig::new(
        AllowSet::new(rules),
        Arc::new(Mutex::new(gate)),
        Arc::new(Authority::new().unwrap()),
        Trust::only([]),
    )
}

pub fn writes(entries: &[(&str, &str, Option<u32>)], safe: &[(&str, &[&str])]) -> Gate {
    Gate::new(
        entries
            .iter()
            .map(|(what, request, times)| WriteRule::parse(what, request, *times).unwrap())
            .collect(),
        safe.iter()
            .map(|(request, names)| {
                SafeRequest::parse(request, names.iter().map(|n| n.to_string()).collect()).unwrap()
            })
            .collect(),
    )
}

pub struct Rig {
    pub proxy: Proxy,
    pub events: UnboundedReceiver<NetEvent>,
    pub config: ProxyConfig,
}

pub async fn rig(config: ProxyConfig) -> Rig {
    let mut proxy = Proxy::start(config.clone()).await.unwrap();
    let events = proxy.events().unwrap();
    Rig {
        proxy,
        events,
        config,
    }
}

impl Rig {
    pub async fn client(&self) -> Client {
        let stream = TcpStream::connect(self.proxy.address()).await.unwrap();
        Client::over(stream)
    }

    pub async fn say(&self, bytes: &str) -> Answer {
        let mut client = self.client().await;
        client.send(bytes).await;
        client.answer().await.expect("an answer")
    }

    pub async fn get(&self, address: &str) -> Answer {
        self.say(&request("GET", address, "", "")).await
    }

    /// CONNECT, then TLS that trusts the run's authority.
    pub async fn secure(&self, host: &str) -> Client {
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(self.config.authority.certificate().clone())
            .unwrap();
        self.secure_by(host, roots)
            .await
            .expect("the proxy's certificate holds")
    }

    pub async fn secure_by(
        &self,
        host: &str,
        roots: rustls::RootCertStore,
    ) -> std::io::Result<Client> {
        let mut client = self.client().await;
        client.send(&connect(host)).await;
        assert_eq!(client.head().await.unwrap().status, 200);
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (name, _) = host.rsplit_once(':').unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, client.stream)
            .await?;
        Ok(Client::over(stream))
    }

    /// The next event that `pick` takes.
    pub async fn event<T>(&mut self, pick: impl Fn(NetEvent) -> Option<T>) -> T {
        soon(async {
            loop {
                let event = self.events.recv().await.expect("the proxy runs");
                if let Some(found) = pick(event) {
                    return found;
                }
            }
        })
        .await
    }

    pub async fn blocked(&mut self) -> BlockedRequest {
        self.event(|event| match event {
            NetEvent::Blocked(blocked) => Some(blocked),
            _ => None,
        })
        .await
    }

    pub async fn failed(&mut self) -> String {
        self.event(|event| match event {
            NetEvent::Failed { reason, .. } => Some(reason),
            _ => None,
        })
        .await
    }
}

pub fn connect(place: &str) -> String {
    format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")
}

/// A request as a browser sends it to a proxy.
pub fn request(method: &str, address: &str, fields: &str, body: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    inner(method, address, host, fields, body)
}

/// A request inside a tunnel.
pub fn inner(method: &str, target: &str, host: &str, fields: &str, body: &str) -> String {
    let length = match body.is_empty() {
        true => String::new(),
        false => format!("Content-Length: {}\r\n", body.len()),
    };
    format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}{length}\r\n{body}")
}

pub struct Client {
    pub stream: Box<dyn Stream>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Client {
    pub fn over(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            buffer: Vec::new(),
        }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// `None`: the connection ended without a whole answer.
    pub async fn answer(&mut self) -> Option<Answer> {
        soon(async {
            let text = read_message(&mut self.stream, &mut self.buffer).await?;
            Some(Answer::of(text))
        })
        .await
    }

    /// Only the head, for answers whose body has no end.
    pub async fn head(&mut self) -> Option<Answer> {
        let text = self.until("\r\n\r\n").await?;
        Some(Answer::of(text))
    }

    pub async fn until(&mut self, mark: &str) -> Option<String> {
        soon(async {
            loop {
                let text = String::from_utf8_lossy(&self.buffer).into_owned();
                if let Some(at) = text.find(mark) {
                    self.buffer.drain(..at + mark.len());
                    return Some(text[..at + mark.len()].to_owned());
                }
                let mut chunk = [0; 4096];
                match self.stream.read(&mut chunk).await {
                    Ok(n) if n > 0 => self.buffer.extend_from_slice(&chunk[..n]),
                    _ => return None,
                }
            }
        })
        .await
    }

    /// Waits until the proxy hangs up; what came before that.
    pub async fn rest(&mut self) -> String {
        soon(async {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = self.stream.read(&mut chunk).await {
                self.buffer.extend_from_slice(&chunk[..n]);
            }
        })
        .await;
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }
}

impl Answer {
    fn of(text: String) -> Self {
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, text }
    }
}
