//! Addresses, hosts and requests. Only what could never match is refused; canonical spelling is
//! the policy's business.

use super::Bind;
use crate::scenario::model::*;
use crate::scenario::shapes::{HOST, SAFE, WRITE, Want};
use crate::scenario::yaml::{Kind, Node};
use crate::text::{Spanned, nearest, visible};

const FULL: Want = Want::Count(1, u32::MAX as u64);

/// Methods that may change something (IANA's registry without the reads); a page can send others.
const CHANGING: &[&str] = &[
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "COPY",
    "DELETE",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

impl Bind<'_> {
    /// An address to open: a path of the site, or http(s).
    pub fn address(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node, "an address")?;
        let lower = text.to_lowercase();
        let web = lower.starts_with("http://") || lower.starts_with("https://");
        let other = lower.split_once(':').filter(|(s, _)| {
            !s.is_empty()
                && s.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        });
        match other {
            Some((scheme, rest)) if !web && !rest.starts_with(|c: char| c.is_ascii_digit()) => {
                self.error(
                    node.span,
                    &format!("`{scheme}:` addresses can't be opened"),
                    "write an http or https address, or a path such as /settings",
                );
                None
            }
            Some(_) if !web => {
                self.error(
                    node.span,
                    "the address has no scheme",
                    format!("write http://{0} or https://{0}", text.value),
                );
                None
            }
            _ if text.contains(char::is_whitespace) => {
                self.error(
                    node.span,
                    "an address has no blanks",
                    "write %20 for a blank",
                );
                None
            }
            _ => Some(text.value),
        }
    }

    pub fn start(&mut self, node: &Node) -> Option<Spanned<String>> {
        let address = self.address(node)?;
        if !address.to_lowercase().starts_with("http") && !address.starts_with("$(") {
            self.error(
                node.span,
                "the entry address needs scheme and host",
                "for example: http://code.test/",
            );
            return None;
        }
        Some(Spanned::new(address, node.span))
    }

    pub fn hosts(&mut self, node: &Node) -> Vec<HostEntry> {
        self.list(node, "hosts: [static.code.test]", |b, item| {
            let (node, private) = match &item.kind {
                Kind::Map(_) => {
                    let fields = b.map(item, &HOST)?;
                    let private = match fields.get("private") {
                        Some(node) => b.at("private", |b| b.boolean(node))?,
                        None => false,
                    };
                    (fields.get("host")?, private)
                }
                _ => (item, false),
            };
            let host = b.text(node, "a host")?;
            match host_fault(&host) {
                None => Some(HostEntry { host, private }),
                Some(fault) => {
                    let right = right_form(&host);
                    let shown = visible(&host);
                    b.error(
                        node.span,
                        &format!("`{shown}` {fault}"),
                        format!("an entry is [scheme://]host[:port], one exact host each: {right}"),
                    );
                    None
                }
            }
        })
    }

    pub fn writes(&mut self, node: &Node) -> Vec<WriteRule> {
        self.list(node, WRITE.example, |b, item| {
            let fields = b.map(item, &WRITE)?;
            let what = b.at("what", |b| b.text(fields.get("what")?, "what it changes"));
            let request = b.at("request", |b| b.request(fields.get("request")?));
            let times = match fields.get("times") {
                Some(node) => Some(b.at("times", |b| b.number(node, &FULL))?),
                None => None,
            };
            Some(WriteRule {
                what: what?,
                request: request?,
                times,
            })
        })
    }

    pub fn safe_requests(&mut self, node: &Node) -> Vec<SafeRequest> {
        self.list(node, SAFE.example, |b, item| {
            let fields = b.map(item, &SAFE)?;
            let request = b.at("request", |b| b.request(fields.get("request")?));
            let operation = match fields.get("operation") {
                Some(node) => b.at("operation", |b| {
                    b.many(node, |b, n| b.text(n, "the name of an operation"))
                }),
                None => Vec::new(),
            };
            Some(SafeRequest {
                request: request?,
                operation: operation.into_iter().map(|o| o.value).collect(),
            })
        })
    }

    /// `METHOD glob`.
    fn request(&mut self, node: &Node) -> Option<Spanned<String>> {
        let text = self.text(node, "METHOD and address")?;
        let example = "\"POST http://code.test/*/commit\"";
        let Some((method, glob)) = text.split_once(' ').map(|(m, g)| (m, g.trim())) else {
            self.wrong(node, "METHOD and address", example);
            return None;
        };
        if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase()) {
            self.error(
                node.span,
                &format!("`{}` is no method", visible(method)),
                format!("methods are in capitals: {example}"),
            );
            return None;
        }
        if ["GET", "HEAD", "OPTIONS"].contains(&method) {
            self.error(
                node.span,
                &format!("{method} requests are reads and need no entry"),
                "leave the entry away",
            );
            return None;
        }
        if ["CONNECT", "TRACE", "TRACK"].contains(&method) {
            let message = format!("no page can send a {method} request");
            self.error(node.span, &message, "leave the entry away");
            return None;
        }
        if !CHANGING.contains(&method) {
            let help = match nearest(method, CHANGING.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "usual ones are POST, PUT, PATCH and DELETE".to_owned(),
            };
            let message = format!("`{method}` is no method that is registered");
            self.warn(node.span, &message, help);
        }
        if !glob.starts_with("http://") && !glob.starts_with("https://") && !glob.starts_with("$(")
        {
            self.error(
                node.span,
                "the address of the request needs scheme and host",
                format!("for example: {example}"),
            );
            return None;
        }
        let host = glob
            .split("://")
            .nth(1)
            .and_then(|r| r.split('/').next())
            .unwrap_or_default();
        if host.contains('*') {
            self.error(
                node.span,
                "the host of a request is exact: `*` can't stand in it",
                format!("for example: {example}"),
            );
            return None;
        }
        Some(text)
    }
}

/// Why an entry would never match anything. Canonical spelling is the policy's business.
pub(super) fn host_fault(entry: &str) -> Option<&'static str> {
    let rest = match entry.split_once("://") {
        Some((scheme, rest)) if ["http", "https", "ws", "wss"].contains(&scheme) => rest,
        Some(_) => return Some("has a scheme that is not http, https, ws or wss"),
        None => entry,
    };
    if rest.contains('*') {
        return Some("has a pattern, and only exact hosts are allowed");
    }
    if rest.contains('@') {
        return Some("has a user name before the host");
    }
    if rest.contains(['/', '?', '#', '\\']) {
        return Some("has a path behind the host");
    }
    if rest.starts_with(['.', ':']) || rest.ends_with("..") || rest.is_empty() {
        return Some("is no whole host name");
    }
    if rest.contains(char::is_whitespace) {
        return Some("has a blank in it");
    }
    let port = rest
        .rsplit_once(':')
        .filter(|(h, _)| !h.contains(':') || h.ends_with(']'))
        .map(|(_, p)| p);
    match port {
        Some(port) if port.parse::<u16>().is_ok_and(|p| p > 0) || port.starts_with("$(") => None,
        Some(_) => Some("has no port behind the colon"),
        None => None,
    }
}

fn right_form(entry: &str) -> String {
    let (scheme, rest) = match entry.split_once("://") {
        Some((s, r)) => (format!("{s}://"), r),
        None => (String::new(), entry),
    };
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host
        .trim_start_matches(['*', '.'])
        .trim_end_matches(':')
        .trim();
    if host.is_empty() {
        "static.code.test".into()
    } else {
        format!("{scheme}{host}")
    }
}
