//! Addresses as they may be shown: without what sign-ins and trackers put into them (case 076).

use url::Url;

/// The address without user info and fragment, and with query values left out: their names stay.
/// Text that is no address comes back as it is. Placeholders stay readable.
pub fn shown_address(address: &str) -> String {
    if !address.contains('‹') {
        return shown(address);
    }
    // An address is written in ASCII: what stands for a value would be encoded, in a host beyond
    // recognition.
    let mut plain = String::new();
    let mut placeholders = Vec::new();
    let mut rest = address;
    while let Some((before, placeholder, after)) = next_placeholder(rest) {
        plain.push_str(before);
        plain.push_str(&stand_in(placeholders.len()));
        placeholders.push(placeholder);
        rest = after;
    }
    plain.push_str(rest);
    let mut text = shown(&plain);
    for (n, placeholder) in placeholders.iter().enumerate() {
        text = text.replace(&stand_in(n), placeholder);
    }
    text
}

fn stand_in(n: usize) -> String {
    format!("placeholder{n}x")
}

fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find('‹')?;
    let end = start + text[start..].find('›')? + '›'.len_utf8();
    Some((&text[..start], &text[start..end], &text[end..]))
}

fn shown(address: &str) -> String {
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

    #[test]
    fn placeholders_stay_readable_wherever_they_stand() {
        assert_eq!(
            shown_address("http://a-‹shop.password›.evil.test/‹shop.username›/x?q=1"),
            "http://a-‹shop.password›.evil.test/‹shop.username›/x?q=…"
        );
        assert_eq!(
            shown_address("http://site.test/‹x"),
            "http://site.test/%E2%80%B9x"
        );
    }
}
