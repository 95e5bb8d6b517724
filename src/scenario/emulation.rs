//! Where and when a browser believes to be: the values `locale` and `time_zone` may have.
//!
//! A browser that is handed another one says no more than "invalid argument", and only once it runs.

use std::sync::LazyLock;

use jiff::tz::TimeZoneDatabase;

/// The database that is built in: which names are known doesn't change from machine to machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A name of the tz database, or an offset such as `+05:30`.
pub fn is_time_zone(text: &str) -> bool {
    is_offset(text) || ZONES.get(text).is_ok()
}

/// The known name that is nearest to what was written.
pub fn nearest_time_zone(text: &str) -> Option<String> {
    let known: Vec<String> = ZONES.available().map(|name| name.to_string()).collect();
    let near = crate::text::nearest(text, known.iter().map(String::as_str))?;
    Some(near.to_owned())
}

fn is_offset(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['+', '-']) else {
        return false;
    };
    let two = |part: &str, limit: u8| {
        part.len() == 2
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse::<u8>().is_ok_and(|n| n < limit)
    };
    rest.split_once(':')
        .is_some_and(|(hours, minutes)| two(hours, 24) && two(minutes, 60))
}

/// Whether a tag is well formed (BCP 47 as browsers read it: Unicode locale identifiers). Which
/// languages there are is the browser's affair.
pub fn is_locale(text: &str) -> bool {
    let mut parts = text.split('-').peekable();
    let alpha = |part: &str, sizes: &[usize]| {
        sizes.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic())
    };
    let alnum = |part: &str, sizes: std::ops::RangeInclusive<usize>| {
        sizes.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let digit = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    if !parts.next().is_some_and(|p| alpha(p, &[2, 3, 5, 6, 7, 8])) {
        return false;
    }
    parts.next_if(|p| alpha(p, &[4]));
    parts.next_if(|p| alpha(p, &[2]) || p.len() == 3 && p.bytes().all(|b| b.is_ascii_digit()));
    let mut seen = Vec::new();
    while let Some(variant) = parts.next_if(|p| alnum(p, 5..=8) || alnum(p, 4..=4) && digit(p)) {
        seen.push(variant.to_ascii_lowercase());
    }
    while let Some(singleton) = parts.next() {
        let own = singleton.eq_ignore_ascii_case("x");
        let sizes = if own { 1..=8 } else { 2..=8 };
        let first = parts.next_if(|p| alnum(p, sizes.clone()));
        if !alnum(singleton, 1..=1) || first.is_none() {
            return false;
        }
        while parts.next_if(|p| alnum(p, sizes.clone())).is_some() {}
        if own {
            break;
        }
        seen.push(singleton.to_ascii_lowercase());
    }
    // No variant and no extension twice, nothing left.
    let all = seen.len();
    seen.sort();
    seen.dedup();
    seen.len() == all && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zones_are_those_of_the_database_and_offsets() {
        for good in [
            "UTC",
            "Europe/Rome",
            "America/Argentina/Buenos_Aires",
            "US/Pacific",
            "Etc/GMT+5",
            "+05:30",
            "-11:00",
        ] {
            assert!(is_time_zone(good), "{good}");
        }
        for bad in [
            "",
            "Mars/Olympus",
            "Europe",
            "Europe/Rome ",
            "+5:30",
            "+24:00",
            "+05:60",
            "05:30",
            "../etc/passwd",
        ] {
            assert!(!is_time_zone(bad), "{bad}");
        }
        assert_eq!(
            nearest_time_zone("Europe/Roma").as_deref(),
            Some("Europe/Rome")
        );
    }

    #[test]
    fn locales_are_well_formed_tags() {
        for good in [
            "en",
            "en-GB",
            "de-1996",
            "zh-Hant-TW",
            "es-419",
            "sl-rozaj-biske",
            "ar-EG-u-nu-latn",
            "en-u-ca-buddhist-t-de",
            "en-x-a-b",
            "haw",
        ] {
            assert!(is_locale(good), "{good}");
        }
        for bad in [
            "",
            "e",
            "en_GB",
            "xx_notalocale!",
            "latn",
            "en-",
            "-en",
            "en-GB-US",
            "en-u",
            "en-x",
            "en-a-bb-a-cc",
            "de-1996-1996",
            "en-GB ",
            "english language",
            "é",
        ] {
            assert!(!is_locale(bad), "{bad}");
        }
    }
}
