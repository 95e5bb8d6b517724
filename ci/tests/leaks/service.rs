//! The service's answers: one that holds a value in any form is not sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rehearsal::secrets::inject::plant::VARIABLE;
use rehearsal::secrets::{Scanner, Scrubber, Secret, inject};

use super::lab::{Lab, canary};

#[test]
fn r1_r9_no_answer_of_the_service_is_sent_with_a_value_in_any_form() {
    // The one value a service knows before any session: the model's key, which must fit a header.
    let key = format!("{}\"<&>'\\/+=%{}", canary(6), canary(6));
    let secret = Secret::new(key.clone()).expect("a value");
    let scrubber = Scrubber::new();
    scrubber.register_key("model", &secret);
    let scanner = Scanner::new(&scrubber);
    let mut lab = Lab::new();
    lab.set("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    lab.set("OPENAI_MODEL", "none");
    lab.set("OPENAI_API_KEY", &key);
    lab.set(VARIABLE, "service answer");
    let made = lab
        .command()
        .args(["serve", "token", "add", "ada"])
        .output()
        .expect("it runs");
    let token = String::from_utf8(made.stdout).expect("text");
    let mut service = lab
        .command()
        .args(["serve", "--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let out = service.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let at = line.split("http://").nth(1).expect("an address").trim();
    let forms = inject::loose(&secret);
    let answers: Vec<String> = (0..=forms.len()).map(|_| ask(at, token.trim())).collect();
    service.kill().expect("it ends");
    service.wait().expect("it ends");
    let mut row = String::new();
    let mut missed = Vec::new();
    for ((form, _), answer) in forms.iter().zip(&answers) {
        let held_back = answer.starts_with("HTTP/1.1 500") && answer.contains("\"leak\"");
        let clean = scanner.scan_bytes("x", answer.as_bytes()).is_empty();
        row.push(if held_back && clean { '+' } else { '-' });
        if !held_back || !clean {
            missed.push(form);
        }
    }
    println!("{:>18} {row}", "service answer");
    assert!(missed.is_empty(), "sent: {missed:?}");
    let last = answers.last().expect("an answer");
    assert!(
        last.starts_with("HTTP/1.1 200"),
        "with nothing planted: {last}"
    );
}

fn ask(at: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("it listens");
    write!(
        stream,
        "GET /sessions HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )
    .expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}
