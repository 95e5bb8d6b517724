//! A small server whose pages and answers misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

pub struct Site {
    pub port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Whether `/gate` shows its second half.
    open: AtomicBool,
    posts: AtomicUsize,
}

impl Site {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || answer(stream, &state));
            }
        });
        Self { port, state }
    }

    pub fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// From now on the gate's page shows "Open sesame".
    pub fn open_gate(&self) {
        self.state.open.store(true, Ordering::SeqCst);
    }

    pub fn posts(&self) -> usize {
        self.state.posts.load(Ordering::SeqCst)
    }
}

fn answer(stream: TcpStream, state: &State) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let mut length = 0;
    let mut first = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(n) if n > 0 => {}
            _ => return,
        }
        if first.is_empty() {
            first = line.trim().to_owned();
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or("/"));
    respond(reader.into_inner(), method, path, state);
}

fn respond(mut stream: TcpStream, method: &str, path: &str, state: &State) {
    let mut page = |body: &str| send(&mut stream, "200 OK", "text/html; charset=utf-8", body);
    match path {
        "/fine" => page("<title>Fine</title><h1>Fine</h1><a href='/fine?again'>Again</a>"),
        "/spin" => page(
            "<h1>Spin</h1><button onclick='setTimeout(() => { while (true) {} }, 0)'>Spin</button>",
        ),
        "/storm" => page(
            "<h1>Storm</h1><button onclick='for (let i = 0; i < 20; i++) alert(\"gust \" + i)'>Storm</button>\
             <button onclick='alert(1); alert(2); this.textContent = \"Calm\"'>Breeze</button>",
        ),
        "/popups" => page(
            "<h1>Popups</h1><button onclick='for (let i = 0; i < 200; i++) window.open(\"/fine?\" + i)'>Open many</button>",
        ),
        "/files" => page("<h1>Files</h1><a href='/report.csv'>Orders</a>"),
        "/report.csv" => {
            let head = "text/csv\r\nContent-Disposition: attachment; filename=\"orders.csv\"";
            send(&mut stream, "200 OK", head, "id\n1\n2\n");
        }
        "/gate" => page(
            "<h1>Gate</h1><p id=p>Closed</p><script>setInterval(async () => { \
             document.getElementById('p').textContent = await (await fetch('/gate-state')).text() }, 100)</script>",
        ),
        "/gate-state" => {
            let open = state.open.load(Ordering::SeqCst);
            page(if open { "Open sesame" } else { "Closed" });
        }
        "/order" => {
            page("<h1>Order</h1><form method=post action=/send><button>Send</button></form>")
        }
        "/send" if method == "POST" => {
            state.posts.fetch_add(1, Ordering::SeqCst);
            page("<h1>Sent</h1><p>Nothing more comes.</p>");
        }
        "/again-and-again" => {
            page("<h1>Here</h1><script>setTimeout(() => location.reload(), 30)</script>")
        }
        "/loop" => redirect(&mut stream, "/loop"),
        "/leads" => page("<h1>Leads</h1><a href='/hang'>Nowhere</a> <a href='/story'>Story</a>"),
        "/story" => {
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<h1>Story</h1>\
                  <button onclick='this.textContent = \"Read\"'>Begin</button>",
            );
            // Its end never comes; the other end's going away ends it.
            while stream.write_all(b"<p>And then</p>").is_ok() {
                std::thread::sleep(Duration::from_millis(500));
            }
        }
        "/hang" => std::thread::sleep(Duration::from_secs(300)),
        "/drip" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
            // One byte a second, for ever; the other end's going away ends it.
            while stream.write_all(b"<").is_ok() {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        _ if path.starts_with("/fine?") => page("<title>Fine</title><h1>Fine</h1>"),
        _ => send(
            &mut stream,
            "404 Not Found",
            "text/html",
            "<h1>Nothing here</h1>",
        ),
    }
}

fn send(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

fn redirect(stream: &mut TcpStream, to: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
}
