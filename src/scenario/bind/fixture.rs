//! Files in `fixtures/`: servers and flows.

use super::{Bind, Fields};
use crate::scenario::model::*;
use crate::scenario::shapes::FIXTURE;
use crate::scenario::yaml::Node;
use crate::text::Spanned;

impl Bind<'_> {
    pub(super) fn fixture(&mut self, root: &Node, name: &str) -> Option<Fixture> {
        let fields = self.map(root, &FIXTURE)?;
        let server: Vec<&str> = ["command", "serve"]
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        let kind = match (server.as_slice(), fields.get("steps")) {
            ([_], None) => {
                self.misplaced(
                    fields,
                    &["credentials", "vars", "language", "after", "keep"],
                    "a server",
                );
                FixtureKind::Server(self.server(fields)?)
            }
            ([], Some(_)) => {
                self.misplaced(fields, &["scope", "ready", "reset", "disposable"], "a flow");
                FixtureKind::Flow(self.flow(fields))
            }
            _ => {
                self.error(super::top::top_of(root), "a fixture is a server (`command` or `serve`) or a flow (`steps`), and exactly one of them", FIXTURE.example);
                return None;
            }
        };
        let scope = self
            .field(fields, "scope", |b, n| {
                b.word(n, &["scenario", "worker", "run"])
            })
            .flatten();
        let scope = scope.map_or(FixtureScope::default(), |i| {
            [
                FixtureScope::Scenario,
                FixtureScope::Worker,
                FixtureScope::Run,
            ][i]
        });
        Some(Fixture {
            name: name.to_string(),
            source: self.source.clone(),
            scope,
            kind,
        })
    }

    fn misplaced(&mut self, fields: Fields<'_>, keys: &[&str], kind: &str) {
        for entry in keys.iter().filter_map(|k| fields.entry(k)) {
            let key = entry.key.value.as_str();
            self.error(
                entry.key.span,
                &format!("`{key}` means nothing for {kind}"),
                "leave it away",
            );
        }
    }

    fn server(&mut self, fields: Fields<'_>) -> Option<Server> {
        let serves = match (fields.get("command"), fields.get("serve")) {
            (Some(node), _) => {
                let words = self.at("command", |b| {
                    b.list(node, FIXTURE.example, |b, n| b.value(n, "text"))
                });
                if words.is_empty() {
                    self.at("command", |b| {
                        b.wrong(node, "program and arguments", FIXTURE.example)
                    });
                }
                Serves::Command(words)
            }
            (None, Some(node)) => Serves::Folder(self.at("serve", |b| b.suite_path(node))?),
            (None, None) => return None,
        };
        let server = Server {
            serves,
            ready: self.field(fields, "ready", |b, n| b.start(n)).flatten(),
            hosts: self
                .field(fields, "hosts", Self::served_hosts)
                .unwrap_or_default(),
            reset: self.field(fields, "reset", Self::reset).flatten(),
            disposable: self.flag(fields, "disposable"),
        };
        self.only_port(&server);
        Some(server)
    }

    /// A server knows one variable, the port it is given.
    fn only_port(&mut self, server: &Server) {
        let words = match &server.serves {
            Serves::Command(words) => words.as_slice(),
            Serves::Folder(_) => &[],
        };
        let hosts = server.hosts.iter().map(|(_, at)| at);
        let all = words
            .iter()
            .chain(&server.ready)
            .chain(&server.reset)
            .chain(hosts);
        for text in all {
            for name in crate::scenario::vars::names(text).filter(|n| *n != "port") {
                self.error(
                    text.span,
                    &format!("unknown variable `$({})`", crate::text::visible(name)),
                    "a server knows $(port) only: the free port it is to listen on",
                );
            }
        }
    }

    fn served_hosts(&mut self, node: &Node) -> Vec<(Spanned<String>, Spanned<String>)> {
        let example = "hosts: { code.test: \"127.0.0.1:$(port)\" }";
        let entries = self
            .entries(node, "a map of host names and addresses", example)
            .unwrap_or_default();
        let mut hosts = Vec::new();
        for entry in entries {
            let name = entry.key.clone();
            if let Some(fault) = super::hosts::host_fault(&name) {
                self.error(
                    name.span,
                    &format!("`{}` {fault}", crate::text::visible(&name)),
                    example,
                );
                continue;
            }
            let at = self.at(name.value.as_str(), |b| b.text(&entry.value, "an address"));
            let Some(at) = at else { continue };
            let port = at.rsplit_once(':').map(|(_, p)| p);
            if at.contains('/') || !port.is_some_and(|p| p == "$(port)" || p.parse::<u16>().is_ok())
            {
                self.error(
                    at.span,
                    &format!("`{}` is no address with a port", crate::text::visible(&at)),
                    example,
                );
                continue;
            }
            hosts.push((name, at));
        }
        hosts
    }

    fn reset(&mut self, node: &Node) -> Option<Spanned<String>> {
        let text = self.text(node, "METHOD and address")?;
        let good = text.split_once(' ').is_some_and(|(m, a)| {
            m.bytes().all(|b| b.is_ascii_uppercase())
                && (a.trim().starts_with("http://") || a.trim().starts_with("https://"))
        });
        if !good {
            self.wrong(
                node,
                "METHOD and address",
                "reset: POST http://127.0.0.1:$(port)/reset",
            );
            return None;
        }
        Some(text)
    }

    fn flow(&mut self, fields: Fields<'_>) -> Flow {
        let credentials = self
            .field(fields, "credentials", Self::credential_names)
            .unwrap_or_default();
        self.credentials = credentials.iter().map(|c| c.value.clone()).collect();
        let keep = self
            .field(fields, "keep", |b, n| b.word(n, &["session", "vault"]))
            .flatten();
        Flow {
            credentials,
            vars: self.field(fields, "vars", Self::vars).unwrap_or_default(),
            hosts: self.field(fields, "hosts", Self::hosts).unwrap_or_default(),
            steps: self.field(fields, "steps", Self::steps).unwrap_or_default(),
            after: self.field(fields, "after", Self::steps).unwrap_or_default(),
            keep: keep.map(|i| [Keep::Session, Keep::Vault][i]),
        }
    }
}
