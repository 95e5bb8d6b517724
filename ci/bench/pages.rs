//! The generated pages, and a small server for them that is also the proxy a user context wants.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{TcpListener, TcpStream};

/// A page of `count` controls: one kind (`buttons`) or what forms and tables are made of (`mixed`).
pub fn page(kind: &str, count: usize) -> String {
    let mut body = String::new();
    for i in 0..count {
        let row = i / 5;
        let _ = match (kind, i % 5) {
            ("buttons", _) => writeln!(body, "<button>Approve line {i}</button>"),
            (_, 0) => writeln!(
                body,
                "<section><h2>Line {row}</h2><label>Amount {row} <input value=\"{i}\"></label>"
            ),
            (_, 1) => writeln!(
                body,
                "<label><input type=checkbox{}> Insure {row}</label>",
                checked(row)
            ),
            (_, 2) => writeln!(
                body,
                "<label for=p{i}>Port {row}</label><select id=p{i}><option>Genoa<option selected>Trieste</select>"
            ),
            (_, 3) => writeln!(
                body,
                "<p>Bound for <a href=\"/line/{row}\">berth {row}</a> today</p>"
            ),
            _ => writeln!(
                body,
                "<button aria-label=\"Dispatch {row}\"{}>Go</button></section>",
                disabled(row)
            ),
        };
    }
    if kind != "buttons" && !count.is_multiple_of(5) {
        body.push_str("</section>");
    }
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{count} controls</title>\
         <style>body{{font:14px sans-serif}} label{{margin:2px}}</style><body><h1>Cargo</h1>\n{body}</body></html>"
    )
}

fn checked(row: usize) -> &'static str {
    if row.is_multiple_of(2) {
        " checked"
    } else {
        ""
    }
}

fn disabled(row: usize) -> &'static str {
    if row.is_multiple_of(7) {
        " disabled"
    } else {
        ""
    }
}

/// The form with ten fields, ten boxes and a button.
pub const FORM: &str = include_str!("form.html");

/// Serves `/<kind>/<count>` and `/form`; takes addresses with a host as well, as proxies do.
pub fn serve(port: u16) -> std::io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = answer(stream);
            });
        }
    });
    Ok(port)
}

/// For the form's two runners: says its port and stays.
pub fn serve_for_ever() {
    let port = std::env::var("PORT").ok().and_then(|p| p.parse().ok());
    match serve(port.unwrap_or(0)) {
        Ok(port) => println!("http://127.0.0.1:{port}"),
        Err(error) => {
            eprintln!("the page server can't start: {error}");
            std::process::exit(1);
        }
    }
    loop {
        std::thread::park();
    }
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0_u8; 4096];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => head.extend_from_slice(&buffer[..n]),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let address = head.split(' ').nth(1).unwrap_or_default();
    let path = match address.strip_prefix("http://") {
        Some(rest) => rest.split_once('/').map_or("", |(_, path)| path),
        None => address.trim_start_matches('/'),
    };
    let body = match path.split_once('/') {
        Some((kind, count)) => count.parse().ok().map(|count| page(kind, count)),
        None if path == "form" => Some(FORM.to_owned()),
        None => None,
    };
    let (status, body) = body.map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}
