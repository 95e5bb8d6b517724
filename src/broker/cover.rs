//! What an entered credential covers: the one request that takes it to its origin. Sockets, which
//! nobody can judge, are kept to that origin meanwhile (R74, R89).

use url::Url;

use crate::policy::{Carries, Origin, SignIn};
use crate::secrets::{Kind, Scrubber, Secret};

use super::session::Broker;

impl Broker {
    /// Instead of what was covered before.
    pub(super) fn cover(&mut self, origin: &Origin, action: Option<Url>, value: &Secret) {
        self.uncover();
        let sign_in = SignIn {
            origin: origin.clone(),
            action,
            carries: carries(value),
        };
        let window = self.gate().open_login(sign_in);
        self.covered = Some(window);
    }

    pub(super) fn uncover(&mut self) {
        if let Some(window) = self.covered.take() {
            self.gate().close_window(window);
        }
    }

    /// From the first key until [`Broker::entered`].
    pub(super) fn entering(&self, origin: &Origin) {
        self.proxy.set_entering(Some(origin.clone()));
    }

    /// Nothing of it can be read any more.
    pub(super) fn entered(&mut self) {
        self.uncover();
        self.proxy.set_entering(None);
    }
}

fn carries(value: &Secret) -> Carries {
    let scrubber = Scrubber::new();
    scrubber.register("sign-in", "value", value, Kind::Password);
    let value = value.duplicate();
    Carries::new(move |body| scrubber.contains_bytes(body) || is_a_field_of(body, value.expose()))
}

/// A value too short to be searched for anywhere still counts where it is a field's whole value.
fn is_a_field_of(body: &[u8], value: &str) -> bool {
    let text = String::from_utf8_lossy(body);
    let (json, part) = (format!("\"{value}\""), format!("\r\n\r\n{value}\r\n"));
    text.contains(&json)
        || text.contains(&part)
        || url::form_urlencoded::parse(body).any(|(_, given)| given == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r89_a_body_carries_the_value_in_any_form_and_nothing_else() {
        let value = |text: &str| Secret::new(text.into()).unwrap();
        let long = carries(&value("Zk7!qWv&\"pT<x9"));
        for body in [
            "user=ada&password=Zk7%21qWv%26%22pT%3Cx9",
            r#"{"p":"Zk7!qWv&\"pT<x9"}"#,
            r#"{"p":"Wms3IXFXdiYicFQ8eDk="}"#,
            "--x\r\ncontent-disposition: form-data; name=p\r\n\r\nZk7!qWv&\"pT<x9\r\n--x--",
        ] {
            assert!(long.body(body.as_bytes()), "{body}");
        }
        for body in ["", "user=ada&password=", r#"{"delete":"account"}"#] {
            assert!(!long.body(body.as_bytes()), "{body}");
        }
        let short = carries(&value("47"));
        for body in ["pin=47&x=1", r#"{"pin":"47"}"#] {
            assert!(short.body(body.as_bytes()), "{body}");
        }
        assert!(!short.body(b"order=1470&times=4"));
    }
}
