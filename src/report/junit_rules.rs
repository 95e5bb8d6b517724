//! The rules that Jenkins and GitLab hold JUnit files to, as a list of checks, and the reading of
//! a file by two independent parsers that must agree.
//!
//! Sources: the JUnit plugin of Jenkins (`SuiteResult`, `CaseResult`, its attachments extension),
//! GitLab's `Ci::Parsers::Test::Junit` with its documentation of unit test reports, XML 1.0 §2.2,
//! and the public reports listed in failures.md (f).

use std::collections::HashSet;

/// What both parsers make of an element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> Vec<&'a Element> {
        let mut found: Vec<&Element> = Vec::new();
        for child in &self.children {
            if child.name == name {
                found.push(child);
            }
            found.extend(child.all(name));
        }
        found
    }

    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    pub fn property(&self, name: &str) -> Option<&str> {
        self.child("properties")?
            .children
            .iter()
            .find(|property| property.get("name") == Some(name))?
            .get("value")
    }
}

/// Reads a file twice; fails where a parser refuses it or the two see different things.
pub fn read(bytes: &[u8]) -> Element {
    let text = std::str::from_utf8(bytes).expect("the report is UTF-8");
    let options = roxmltree::ParsingOptions {
        allow_dtd: false,
        ..Default::default()
    };
    let document =
        roxmltree::Document::parse_with_options(text, options).expect("roxmltree reads it");
    let one = from_tree(document.root_element());
    let two = from_stream(text);
    assert_eq!(one, two, "two parsers see different reports");
    one
}

fn from_tree(node: roxmltree::Node) -> Element {
    let text: String = node
        .children()
        .filter(|child| child.is_text())
        .filter_map(|child| child.text())
        .collect();
    Element {
        name: node.tag_name().name().to_owned(),
        attributes: node
            .attributes()
            .map(|a| (a.name().to_owned(), a.value().to_owned()))
            .collect(),
        text: text.trim().to_owned(),
        children: node
            .children()
            .filter(|child| child.is_element())
            .map(from_tree)
            .collect(),
    }
}

fn from_stream(text: &str) -> Element {
    use quick_xml::events::{BytesStart, Event};
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let open = |tag: &BytesStart| Element {
        name: tag.name().as_ref().to_owned(),
        attributes: tag
            .attributes()
            .map(|a| {
                let a = a.expect("quick-xml reads the attribute");
                let value = quick_xml::escape::unescape(&a.value).expect("known entities only");
                let key = a.key.as_ref().to_owned();
                (key, value.into_owned())
            })
            .collect(),
        ..Element::default()
    };
    let mut stack = vec![Element::default()];
    loop {
        match reader.read_event().expect("quick-xml reads it") {
            Event::Start(tag) => stack.push(open(&tag)),
            Event::Empty(tag) => stack.last_mut().unwrap().children.push(open(&tag)),
            Event::End(_) => {
                let mut done = stack.pop().unwrap();
                done.text = done.text.trim().to_owned();
                stack.last_mut().unwrap().children.push(done);
            }
            Event::Text(text) => {
                let text = quick_xml::escape::unescape(&text).unwrap();
                stack.last_mut().unwrap().text.push_str(&text);
            }
            Event::GeneralRef(name) => {
                let text = format!("&{};", &*name);
                let text = quick_xml::escape::unescape(&text).expect("known entities only");
                stack.last_mut().unwrap().text.push_str(&text);
            }
            Event::Eof => break,
            Event::Decl(_) => {}
            other => panic!("no place for {other:?} in a JUnit file"),
        }
    }
    let mut root = stack.pop().unwrap();
    assert_eq!(root.children.len(), 1, "one root element");
    root.children.remove(0)
}

pub struct Rule {
    pub who: &'static str,
    pub says: &'static str,
    pub check: fn(&Element) -> Result<(), String>,
}

pub const RULES: &[Rule] = &[
    Rule {
        who: "GitLab, Jenkins",
        says: "the root is one <testsuites> that holds only <testsuite>",
        check: |root| {
            let wrong = root.children.iter().find(|child| child.name != "testsuite");
            if root.name != "testsuites" {
                return Err(format!("root is <{}>", root.name));
            }
            wrong.map_or(Ok(()), |child| Err(format!("<{}> in the root", child.name)))
        },
    },
    Rule {
        who: "Jenkins",
        says: "counts of the root and of each suite equal their cases",
        check: |root| {
            counted(root)?;
            root.children.iter().try_for_each(counted)
        },
    },
    Rule {
        who: "Jenkins, GitLab",
        says: "every time is seconds with three digits after a dot: no grouping, exponent or NaN",
        check: |root| {
            let all = everything(root);
            let mut timed = all
                .iter()
                .filter(|e| matches!(e.name.as_str(), "testsuite" | "testcase" | "testsuites"));
            timed.try_for_each(|e| {
                let time = e.get("time").ok_or(format!("<{}> has no time", e.name))?;
                let (seconds, part) = time.split_once('.').ok_or(format!("time {time}"))?;
                let digits =
                    |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                (digits(seconds) && digits(part) && part.len() == 3)
                    .then_some(())
                    .ok_or(format!("time {time}"))
            })
        },
    },
    Rule {
        who: "Jenkins",
        says: "a timestamp is a real RFC 3339 moment",
        check: |root| {
            everything(root)
                .iter()
                .filter_map(|e| e.get("timestamp"))
                .try_for_each(|stamp| match stamp.parse::<jiff::Timestamp>() {
                    Ok(moment) if moment.as_second() > 0 => Ok(()),
                    _ => Err(format!("timestamp {stamp}")),
                })
        },
    },
    Rule {
        who: "Jenkins, GitLab",
        says: "no attribute is empty",
        check: |root| {
            everything(root).iter().try_for_each(|e| {
                match e
                    .attributes
                    .iter()
                    .find(|(_, value)| value.trim().is_empty())
                {
                    Some((name, _)) => Err(format!("<{} {name}=\"\">", e.name)),
                    None => Ok(()),
                }
            })
        },
    },
    Rule {
        who: "GitLab",
        says: "every case has name, classname and file; pairs of class and name are unique",
        check: |root| {
            let mut pairs = HashSet::new();
            root.all("testcase").into_iter().try_for_each(|case| {
                let name = case.get("name").ok_or("a case without name")?;
                let class = case.get("classname").ok_or("a case without classname")?;
                pairs
                    .insert((class, name))
                    .then_some(())
                    .ok_or(format!("{class} / {name} twice"))
            })
        },
    },
    Rule {
        who: "GitLab, Jenkins",
        says: "a case has at most one of failure, error and skipped, and they have message and type",
        check: |root| {
            root.all("testcase").into_iter().try_for_each(|case| {
                let verdicts: Vec<&Element> = case
                    .children
                    .iter()
                    .filter(|c| matches!(c.name.as_str(), "failure" | "error" | "skipped"))
                    .collect();
                if verdicts.len() > 1 {
                    return Err("two verdicts in a case".to_owned());
                }
                verdicts
                    .iter()
                    .filter(|v| v.name != "skipped")
                    .try_for_each(
                        |v| match (v.get("message"), v.get("type"), v.text.is_empty()) {
                            (Some(_), Some(_), false) => Ok(()),
                            _ => Err(format!("<{}> lacks message, type or text", v.name)),
                        },
                    )
            })
        },
    },
    Rule {
        who: "Jenkins (Surefire schema)",
        says: "the parts of a case come as properties, verdict, reruns, system-out, each known",
        check: |root| {
            let rank = |name: &str| match name {
                "properties" => Some(0),
                "failure" | "error" | "skipped" => Some(1),
                "flakyFailure" | "flakyError" | "rerunFailure" | "rerunError" => Some(2),
                "system-out" => Some(3),
                "system-err" => Some(4),
                _ => None,
            };
            root.all("testcase").into_iter().try_for_each(|case| {
                let ranks: Option<Vec<i32>> = case.children.iter().map(|c| rank(&c.name)).collect();
                let ranks = ranks.ok_or("an unknown element in a case")?;
                ranks
                    .is_sorted()
                    .then_some(())
                    .ok_or("parts out of order".to_owned())
            })
        },
    },
    Rule {
        who: "GitLab",
        says: "an attachment is a relative path alone on its line, the first one the most telling",
        check: |root| {
            root.all("system-out").into_iter().try_for_each(|out| {
                out.text
                    .lines()
                    .filter(|line| line.contains("[[ATTACHMENT"))
                    .try_for_each(|line| {
                        let path = line
                            .strip_prefix("[[ATTACHMENT|")
                            .and_then(|rest| rest.strip_suffix("]]"))
                            .ok_or(format!("not alone on its line: {line}"))?;
                        let fine = !path.is_empty()
                            && !path.contains(['[', ']', '|'])
                            && !path.contains("..");
                        fine.then_some(()).ok_or(format!("attachment {path}"))
                    })
            })
        },
    },
    Rule {
        who: "XML 1.0",
        says: "no character a strict reader refuses, and no escape sequence is left",
        check: |root| {
            let fine = |c: char| match c {
                '\t' | '\n' | '\r' => true,
                c => !c.is_control() && (c as u32) & 0xfffe != 0xfffe,
            };
            everything(root).iter().try_for_each(|e| {
                let texts = e.attributes.iter().map(|(_, value)| value).chain([&e.text]);
                let mut bad = texts.filter(|text| !text.chars().all(fine) || text.contains("[31m"));
                bad.next()
                    .map_or(Ok(()), |text| Err(format!("in <{}>: {text:?}", e.name)))
            })
        },
    },
];

/// Every broken rule, with what broke it.
pub fn broken(root: &Element) -> Vec<String> {
    RULES
        .iter()
        .filter_map(|rule| {
            let why = (rule.check)(root).err()?;
            Some(format!("{}: {}: {why}", rule.who, rule.says))
        })
        .collect()
}

fn everything(root: &Element) -> Vec<&Element> {
    let mut all = vec![root];
    for child in &root.children {
        all.extend(everything(child));
    }
    all
}

fn counted(element: &Element) -> Result<(), String> {
    let cases = element.all("testcase");
    let with = |name: &str| {
        cases
            .iter()
            .filter(|case| case.child(name).is_some())
            .count()
    };
    let wanted = [
        ("tests", cases.len()),
        ("failures", with("failure")),
        ("errors", with("error")),
        ("skipped", with("skipped")),
    ];
    wanted.into_iter().try_for_each(|(name, count)| {
        let said = element.get(name).unwrap_or("nothing");
        (said == count.to_string())
            .then_some(())
            .ok_or(format!("{name} says {said}, there are {count}"))
    })
}
