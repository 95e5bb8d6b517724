//! A tutorial as one HTML file: no script, no font, no request; pictures inside.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::model::{Part, Picture, Tutorial, Words};

pub(super) const STYLE: &str = include_str!("html/tutorial.css");

/// `picture` gives a picture's bytes by its file name; what it can't give is linked.
pub fn render(tutorial: &Tutorial, picture: &dyn Fn(&str) -> Option<Vec<u8>>) -> String {
    let mut body = format!("<header>\n<h1>{}</h1>\n", escape(&tutorial.title));
    if tutorial.partial() {
        body.push_str("<div class=\"partial\"><strong>Partial.</strong> This run did not get to its end; what follows is how far it got.</div>\n");
    }
    tutorial
        .introduction
        .iter()
        .for_each(|line| paragraph(&mut body, line));
    body.push_str("</header>\n<main>\n");
    for (i, step) in tutorial.steps.iter().enumerate() {
        let _ = writeln!(
            body,
            "<section id=\"step-{0}\" aria-labelledby=\"caption-{0}\">\n<h2 id=\"caption-{0}\"><span class=\"number\">{0}</span><span>{1}</span></h2>",
            i + 1,
            words(&step.caption)
        );
        if let Some(text) = &step.text {
            paragraph(&mut body, text);
        }
        match &step.actions[..] {
            [] => {}
            [one] => {
                let _ = writeln!(body, "<p>{}</p>", words(&one.clone().end()));
            }
            many => list(&mut body, "ol", many),
        }
        if let Some(shown) = &step.picture {
            figure(&mut body, shown, picture);
        }
        body.push_str("</section>\n");
    }
    if let Some(stopped) = &tutorial.stopped {
        let _ = writeln!(
            body,
            "<section>\n<h2>Where it stopped</h2>\n<p class=\"stopped\">{}</p>",
            words(&stopped.words())
        );
        if let Some(shown) = &tutorial.result {
            figure(&mut body, shown, picture);
        }
        body.push_str("</section>\n");
    } else if !tutorial.conclusion.is_empty() || tutorial.result.is_some() {
        body.push_str("<section class=\"result\">\n<h2>Result</h2>\n");
        match &tutorial.conclusion[..] {
            [] => {}
            [one] => paragraph(&mut body, one),
            many => list(&mut body, "ul", many),
        }
        if let Some(shown) = &tutorial.result {
            figure(&mut body, shown, picture);
        }
        body.push_str("</section>\n");
    }
    body.push_str("</main>\n");
    page(&tutorial.title, &body)
}

/// The frame of every page this room writes.
pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data: 'self'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

fn paragraph(out: &mut String, line: &Words) {
    let _ = writeln!(out, "<p>{}</p>", words(line));
}

fn list(out: &mut String, tag: &str, lines: &[Words]) {
    let _ = writeln!(out, "<{tag}>");
    for line in lines {
        let _ = writeln!(out, "<li>{}</li>", words(&line.clone().end()));
    }
    let _ = writeln!(out, "</{tag}>");
}

fn figure(out: &mut String, shown: &Picture, picture: &dyn Fn(&str) -> Option<Vec<u8>>) {
    let source = match picture(&shown.file) {
        Some(png) => data_uri(&png),
        None => shown.file.clone(),
    };
    let _ = writeln!(
        out,
        "<figure><img src=\"{source}\" alt=\"{}\"></figure>",
        escape(&shown.alt)
    );
}

pub(super) fn data_uri(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(png))
}

pub(super) fn words(words: &Words) -> String {
    words
        .0
        .iter()
        .map(|part| match part {
            Part::Text(text) => escape(text),
            Part::Control(name) => format!("<strong>{}</strong>", escape(name)),
            Part::Value(text) => format!("<q>{}</q>", escape(text)),
            Part::Address(text) => format!("<code>{}</code>", escape(text)),
        })
        .collect()
}

/// For text and for quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
