//! A tutorial as Markdown that stays text: no link, image or tag can come from a page.

use super::model::{Part, Picture, Prose, Tutorial, Words};

pub fn render(tutorial: &Tutorial) -> String {
    let mut out = String::new();
    if tutorial.prose == Prose::Model {
        // So that a later run knows which workflow the prose was written for.
        out.push_str(&format!("<!-- prose for {} -->\n\n", tutorial.pin));
    }
    out.push_str(&format!("# {}\n\n", escape(&tutorial.title)));
    if tutorial.partial() {
        out.push_str(
            "> **Partial.** This run did not get to its end; what follows is how far it got.\n\n",
        );
    }
    for line in &tutorial.introduction {
        out.push_str(&format!("{}\n\n", words(line)));
    }
    for (i, step) in tutorial.steps.iter().enumerate() {
        out.push_str(&format!("## {}. {}\n\n", i + 1, words(&step.caption)));
        if let Some(text) = &step.text {
            out.push_str(&format!("{}\n\n", words(text)));
        }
        match &step.actions[..] {
            [] => {}
            [one] => out.push_str(&format!("{}\n\n", words(&one.clone().end()))),
            many => {
                for (n, action) in many.iter().enumerate() {
                    out.push_str(&format!("{}. {}\n", n + 1, words(&action.clone().end())));
                }
                out.push('\n');
            }
        }
        if let Some(picture) = &step.picture {
            out.push_str(&image(picture));
        }
    }
    if let Some(stopped) = &tutorial.stopped {
        out.push_str(&format!(
            "## Where it stopped\n\n{}\n\n",
            words(&stopped.words())
        ));
        out.extend(tutorial.result.as_ref().map(image));
    } else if !tutorial.conclusion.is_empty() || tutorial.result.is_some() {
        out.push_str("## Result\n\n");
        match &tutorial.conclusion[..] {
            [] => {}
            [one] => out.push_str(&format!("{}\n\n", words(one))),
            many => {
                many.iter()
                    .for_each(|line| out.push_str(&format!("- {}\n", words(line))));
                out.push('\n');
            }
        }
        out.extend(tutorial.result.as_ref().map(image));
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

fn image(picture: &Picture) -> String {
    // The file name is made from a safe alphabet.
    format!("![{}]({})\n\n", escape(&picture.alt), picture.file)
}

fn words(words: &Words) -> String {
    words
        .0
        .iter()
        .enumerate()
        .map(|(i, part)| match part {
            Part::Text(text) if i == 0 => escape(text),
            Part::Text(text) => inline(text),
            Part::Control(name) => format!("**{}**", inline(name.trim())),
            Part::Value(text) => format!("“{}”", inline(text)),
            Part::Address(text) => code(text),
        })
        .collect()
}

/// In a code span nothing is read but backticks.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Marks that Markdown or HTML read are escaped; what some readers turn into links by themselves
/// (`http://`, `www.`, `@name`) is broken up.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            ':' if rest.starts_with("://") || rest.starts_with("::") => out.push_str("&#58;"),
            '.' if text[..at].to_ascii_lowercase().ends_with("www") => out.push_str("&#46;"),
            '{' if rest.starts_with("{{") || rest.starts_with("{%") => out.push_str("&#123;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// As [`inline`], for text that begins a line, where more marks are read.
pub fn escape(text: &str) -> String {
    let text = inline(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text[digits..].chars().next() {
        Some('#' | '+' | '-' | '=') if digits == 0 => format!("\\{text}"),
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        _ => text,
    }
}
