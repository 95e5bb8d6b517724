//! What happened beside the action, scrubbed and in order.

use std::path::PathBuf;

use url::Url;

use crate::event::Blocked;
use crate::network::{BlockedRequest, NetEvent};
use crate::secrets::{BEGINNING, Kind, Scrubber, Secret};

use super::session::Broker;
use super::types::Happening;

impl Broker {
    /// Everything since the last call.
    pub fn happenings(&mut self) -> Vec<Happening> {
        self.drain_network();
        let raw = std::mem::take(&mut self.watch.state().happenings);
        let left = raw.iter().rev().find_map(|h| match h {
            Happening::LeftHosts { url } => Some(url.clone()),
            _ => None,
        });
        self.left = left.or(self.left.take());
        raw.into_iter().map(|h| self.scrubbed(h)).collect()
    }

    /// Names of the files kept so far.
    pub fn downloads(&self) -> Vec<String> {
        let state = self.watch.state();
        state.downloads.kept().map(|n| self.shown_name(n)).collect()
    }

    /// Whether a file the running step consented to came.
    pub fn download_came(&self) -> bool {
        self.watch.state().downloads.came_of_step()
    }

    /// Names of the files that were refused in the running step.
    pub fn downloads_refused(&self) -> Vec<String> {
        let state = self.watch.state();
        let refused = state.downloads.refused();
        refused.map(|n| self.shown_name(n)).collect()
    }

    /// The name the site gave a file, as it may be shown and compared.
    pub(super) fn shown_name(&self, name: &str) -> String {
        self.scrubber.clean(name).as_str().to_owned()
    }

    /// Turns what the proxy told into happenings; a refusal makes every wait end.
    pub(super) fn drain_network(&mut self) {
        let mut more = Vec::new();
        while let Ok(event) = self.network.try_recv() {
            match event {
                NetEvent::Blocked(mut blocked) => {
                    self.conceal_beginnings(&mut blocked);
                    // What would allow a request that holds a value is no advice to give.
                    if let Some(suggestion) = &blocked.suggest
                        && !blocked.browser_own
                        && !self.scrubber.contains(&suggestion.to_string())
                    {
                        self.suggestions.push(suggestion.clone());
                    }
                    if blocked.reason == "secret in url" {
                        // What was stopped on the way to it may hold the beginning of the value.
                        self.suggestions.clear();
                    }
                    if blocked.reason == "host not listed" && !blocked.browser_own {
                        self.denied = Some(address_of(&blocked));
                    }
                    more.extend(refusal(&blocked));
                    more.push(Happening::Blocked(as_event(blocked)));
                }
                NetEvent::Wrote {
                    id,
                    method,
                    address,
                    because,
                } => {
                    self.unanswered.insert(id);
                    if because == crate::policy::LOGIN {
                        self.held_was_sent();
                    }
                    more.push(Happening::Wrote {
                        method,
                        url: address.url,
                        because,
                    });
                }
                NetEvent::Failed {
                    id,
                    address,
                    reason,
                } => {
                    self.answer_lost |= self.unanswered.remove(&id);
                    self.unreached = Some((address.url, reason));
                }
                NetEvent::Answered { id, .. } | NetEvent::Finished { id, .. } => {
                    self.unanswered.remove(&id);
                }
                NetEvent::Started { method, .. } => {
                    let reads = matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS");
                    self.departed += u64::from(!reads);
                }
            }
        }
        let mut state = self.watch.state();
        state.happenings.extend(more);
        self.must_stop |= state.happenings.iter().any(|h| {
            matches!(
                h,
                Happening::UndeclaredWrite { .. }
                    | Happening::LeftHosts { .. }
                    | Happening::SecretInUrl { .. }
            )
        });
    }

    fn scrubbed(&self, happening: Happening) -> Happening {
        let clean = |text: String| self.scrubber.clean(&text).as_str().to_owned();
        match happening {
            Happening::Dialog {
                text,
                answer,
                expected,
            } => Happening::Dialog {
                text: crate::text::cut(&clean(crate::text::without_sequences(&text).into()), 400),
                answer,
                expected,
            },
            Happening::TabOpened { tab, url, followed } => Happening::TabOpened {
                tab,
                url: clean(url),
                followed,
            },
            Happening::Download {
                name,
                path,
                bytes,
                accepted,
            } => Happening::Download {
                name: self.shown_name(&name),
                path: path.map(|path| self.without_values_in_its_name(path)),
                bytes,
                accepted,
            },
            Happening::LeftHosts { url } => Happening::LeftHosts { url: clean(url) },
            Happening::SecretInUrl { host } => Happening::SecretInUrl { host: clean(host) },
            Happening::Wrote {
                method,
                url,
                because,
            } => Happening::Wrote {
                method,
                url: clean(url),
                because,
            },
            Happening::UndeclaredWrite { method, url, add } => Happening::UndeclaredWrite {
                method,
                url: clean(url),
                add: clean(add),
            },
            Happening::Blocked(blocked) => Happening::Blocked(Blocked {
                path: blocked.path.map(clean),
                host: clean(blocked.host),
                ..blocked
            }),
            other => other,
        }
    }
}

impl Broker {
    /// A page that tries to send each key as it is typed shows a value's beginning before the value
    /// stands anywhere: an address that holds one is told without it.
    fn conceal_beginnings(&mut self, blocked: &mut BlockedRequest) {
        let secrets = self.credentials.values().flat_map(|c| &c.fields);
        let secrets = secrets.filter(|(field, _)| *field != "username");
        let beginnings = self.beginnings.get_or_insert_with(|| {
            let scrubber = Scrubber::new();
            for (_, value) in secrets {
                let ends = value.expose().char_indices().map(|(at, _)| at);
                for end in ends.skip(BEGINNING) {
                    if let Ok(part) = Secret::new(value.expose()[..end].to_owned()) {
                        scrubber.register("beginning", "value", &part, Kind::Password);
                    }
                }
            }
            scrubber
        });
        if beginnings.contains(&blocked.host) {
            blocked.host = "a host not told, since it held part of a secret".into();
            blocked.suggest = None;
        }
        if blocked
            .path
            .as_deref()
            .is_some_and(|path| beginnings.contains(path))
        {
            blocked.path = None;
            blocked.suggest = None;
        }
    }

    /// A site names what it sends after whom it sends it to. Where the file can't be renamed the search
    /// for leaks removes it.
    fn without_values_in_its_name(&self, path: PathBuf) -> PathBuf {
        let Some(name) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else {
            return path;
        };
        let clean = self.scrubber.clean(&name);
        if clean == name.as_str() {
            return path;
        }
        super::downloads::renamed(&path, clean.as_str())
    }
}

fn address_of(blocked: &BlockedRequest) -> String {
    let path = blocked.path.as_deref().unwrap_or("/");
    let (scheme, host, port) = (&blocked.scheme, &blocked.host, blocked.port);
    let Ok(mut url) = Url::parse(&format!("{scheme}://{host}:{port}{path}")) else {
        return host.clone();
    };
    if url.port() == Some(scheme.default_port()) {
        let _ = url.set_port(None);
    }
    url.to_string()
}

/// What ends the scenario: a change nobody declared, a document outside the list.
fn refusal(blocked: &BlockedRequest) -> Option<Happening> {
    match blocked.reason {
        "undeclared write" => Some(Happening::UndeclaredWrite {
            method: blocked.method.clone().unwrap_or_else(|| "request".into()),
            url: address_of(blocked),
            add: blocked
                .suggest
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        }),
        "secret in url" => Some(Happening::SecretInUrl {
            host: blocked.host.clone(),
        }),
        "host not listed"
            if blocked.dest.as_deref() == Some("document") && !blocked.browser_own =>
        {
            Some(Happening::LeftHosts {
                url: address_of(blocked),
            })
        }
        _ => None,
    }
}

fn as_event(blocked: BlockedRequest) -> Blocked {
    Blocked {
        method: blocked.method,
        scheme: blocked.scheme.to_string(),
        host: blocked.host,
        port: blocked.port,
        path: blocked.path,
        reason: blocked.reason.to_owned(),
        browser_own: blocked.browser_own,
        times: blocked.times,
    }
}
