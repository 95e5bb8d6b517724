//! Addresses as they may be shown: without what sign-ins and trackers put into them (case 076).

use url::Url;

/// The address without user info and fragment, and with query values left out: their names stay.
/// Text that is no address comes back as it is.
pub fn shown_address(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return address.to_owned();
    };
    if url.cannot_be_a_base() {
        return url.scheme().to_owned() + ":…";
    }
    url.set_fragment(None);
    // Only addresses without a host refuse these.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let names: Vec<String> = url
        .query_pairs()
        .map(|(name, _)| name.into_owned())
        .collect();
    url.set_query(None);
    if names.is_empty() {
        return url.into();
    }
    let names: Vec<String> = names
        .into_iter()
        .map(|name| format!("{}=…", crate::text::cut(&name, 40)))
        .collect();
    format!("{url}?{}", names.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_076_codes_and_tokens_leave_no_trace() {
        let shown = shown_address("https://u:p@site.test/callback?code=code-1&state=2#tok-3");
        assert_eq!(shown, "https://site.test/callback?code=…&state=…");
        assert_eq!(
            shown_address("http://code.test/a/b"),
            "http://code.test/a/b"
        );
        assert_eq!(shown_address("data:text/html,secret"), "data:…");
        assert_eq!(shown_address(""), "");
    }
}
