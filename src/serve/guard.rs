//! Who may talk to the service at all, decided before any route is (security.md T18).
//!
//! A page in some browser of this machine can send requests here: it can't set `Host` to our name
//! (DNS rebinding), can't hide its `Origin`, and can't send JSON without asking first.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response, header};
use axum::middleware::Next;

use std::sync::Arc;

use super::refusal::Refusal;
use super::reply;
use super::service::Service;

/// The names and origins that are right for the port in use.
#[derive(Debug, Clone)]
pub struct Doors {
    hosts: Vec<String>,
    /// The approver's page, which is ours.
    own: Vec<String>,
    /// Named by the operator.
    listed: Vec<String>,
}

impl Doors {
    pub fn new(port: u16, listed: &[String]) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.iter().map(|n| format!("{n}:{port}")).collect();
        if port == 80 {
            hosts.extend(names.iter().map(|n| (*n).to_owned()));
        }
        Self {
            own: hosts.iter().map(|h| format!("http://{h}")).collect(),
            hosts,
            listed: listed.to_vec(),
        }
    }

    /// Where the service is told to be.
    pub fn base(&self) -> String {
        format!("http://{}", self.hosts[0])
    }

    pub fn judge(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, header::HOST).ok_or(Refusal::Forbidden)?;
        if !self.hosts.iter().any(|h| h.eq_ignore_ascii_case(host)) {
            return Err(Refusal::Forbidden);
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = only(headers, header::ORIGIN).ok_or(Refusal::Forbidden)?;
            let approving = path == "/approvals" || path.starts_with("/approvals/");
            let fits = self.listed.iter().any(|o| o == origin)
                || (approving && self.own.iter().any(|o| o == origin));
            if !fits {
                return Err(Refusal::Forbidden);
            }
        }
        if *method == Method::POST && !is_json(headers) {
            return Err(Refusal::ContentType);
        }
        Ok(())
    }
}

/// A header that is there exactly once.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    only(headers, header::CONTENT_TYPE).is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json")
    })
}

/// `Authorization: Bearer …`
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = only(headers, header::AUTHORIZATION)?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= 200)
        .then_some(token)
}

/// In front of every route, those that don't exist included.
pub async fn stand(
    State((service, doors)): State<(Arc<Service>, Arc<Doors>)>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let judged = doors.judge(request.method(), request.uri().path(), request.headers());
    match judged {
        Ok(()) => next.run(request).await,
        Err(refusal) => reply::answer(&service.scanner, Err(refusal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn judged(method: Method, path: &str, lines: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name: header::HeaderName = name.parse().expect("a name");
            headers.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        Doors::new(8771, &["http://tool.test".into()]).judge(&method, path, &headers)
    }

    #[test]
    fn t18_only_the_loopback_names_with_the_port_are_hosts() {
        for good in [
            "127.0.0.1:8771",
            "localhost:8771",
            "LOCALHOST:8771",
            "[::1]:8771",
        ] {
            assert_eq!(
                judged(Method::GET, "/", &[("host", good)]),
                Ok(()),
                "{good}"
            );
        }
        for bad in [
            "127.0.0.1",
            "localhost",
            "127.0.0.1:8772",
            "evil.test:8771",
            "localhost.evil.test:8771",
            "127.0.0.1.nip.io:8771",
            "0.0.0.0:8771",
            "127.1:8771",
            "2130706433:8771",
            "user@127.0.0.1:8771",
            "127.0.0.1:8771.",
            "[::ffff:127.0.0.1]:8771",
            "",
        ] {
            let told = judged(Method::GET, "/", &[("host", bad)]);
            assert_eq!(told, Err(Refusal::Forbidden), "{bad}");
        }
        assert_eq!(judged(Method::GET, "/", &[]), Err(Refusal::Forbidden));
        let twice = [("host", "localhost:8771"), ("host", "evil.test")];
        assert_eq!(judged(Method::GET, "/", &twice), Err(Refusal::Forbidden));
    }

    #[test]
    fn t18_any_origin_is_refused_unless_it_is_listed() {
        let with = |path: &str, origin: &str| {
            judged(
                Method::GET,
                path,
                &[("host", "localhost:8771"), ("origin", origin)],
            )
        };
        assert_eq!(with("/sessions", "http://tool.test"), Ok(()));
        for bad in [
            "null",
            "http://evil.test",
            "http://localhost:8771",
            "http://127.0.0.1:8771",
            "http://tool.test.evil.test",
            "HTTP://TOOL.TEST",
            "file://",
            "",
        ] {
            assert_eq!(with("/sessions", bad), Err(Refusal::Forbidden), "{bad}");
        }
        assert_eq!(with("/approvals/pending", "http://localhost:8771"), Ok(()));
        assert_eq!(
            with("/approvalsx", "http://localhost:8771"),
            Err(Refusal::Forbidden)
        );
    }

    #[test]
    fn f45_a_post_must_say_that_it_is_json() {
        let with = |kind: &str| {
            judged(
                Method::POST,
                "/sessions",
                &[("host", "localhost:8771"), ("content-type", kind)],
            )
        };
        assert_eq!(with("application/json"), Ok(()));
        assert_eq!(with("Application/JSON; charset=utf-8"), Ok(()));
        for bad in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "text/json",
            "",
        ] {
            assert_eq!(with(bad), Err(Refusal::ContentType), "{bad}");
        }
    }
}
