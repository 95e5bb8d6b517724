//! Undoes the escapes of URLs, HTML, JSON and terminals, one character at a time.

/// The character written at `at`, escapes undone, and how many bytes it takes.
/// `None` for something that stands for no character (a terminal sequence).
pub fn read(text: &str, at: usize) -> (Option<char>, usize) {
    let rest = &text.as_bytes()[at..];
    let escaped = match rest[0] {
        b'%' => percent(rest),
        b'&' => entity(rest),
        b'\\' => backslash(rest),
        0x1b | 0xc2 => crate::text::sequence(rest).map(|n| (None, n)),
        _ => None,
    };
    escaped.unwrap_or_else(|| {
        let c = text[at..].chars().next().unwrap_or('\0');
        (Some(c), c.len_utf8())
    })
}

type Read = Option<(Option<char>, usize)>;

fn hex(bytes: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(bytes).ok()?;
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

fn percent(rest: &[u8]) -> Read {
    if matches!(rest.get(1), Some(b'u' | b'U')) {
        return utf16(rest);
    }
    let byte = |n: usize| {
        let piece = rest.get(n * 3..n * 3 + 3)?;
        (piece[0] == b'%')
            .then(|| hex(&piece[1..]))?
            .map(|b| b as u8)
    };
    let first = byte(0)?;
    let length = match first {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return None,
    };
    // A percent sign that was itself escaped: `%2541`.
    if first == b'%'
        && let Some(twice) = rest.get(3..5).and_then(hex)
        && twice < 0x80
    {
        return Some((char::from_u32(twice), 5));
    }
    let mut buffer = [0; 4];
    for (n, slot) in buffer.iter_mut().enumerate().take(length) {
        *slot = byte(n)?;
    }
    let c = std::str::from_utf8(&buffer[..length])
        .ok()?
        .chars()
        .next()?;
    Some((Some(c), length * 3))
}

fn entity(rest: &[u8]) -> Read {
    if rest.get(1) == Some(&b'#') {
        return numeric(rest);
    }
    let end = rest.iter().take(14).position(|b| *b == b';')?;
    let name = std::str::from_utf8(&rest[1..end]).ok()?;
    Some((Some(named(name)?), end + 1))
}

/// `&#104;` or `&#x68;`; browsers do without the semicolon.
fn numeric(rest: &[u8]) -> Read {
    let hex = matches!(rest.get(2), Some(b'x' | b'X'));
    let (start, radix) = if hex { (3, 16) } else { (2, 10) };
    let digits = rest[start.min(rest.len())..]
        .iter()
        .take(12)
        .take_while(|b| char::from(**b).is_digit(radix))
        .count();
    let text = std::str::from_utf8(&rest[start.min(rest.len())..][..digits]).ok()?;
    let c = char::from_u32(u32::from_str_radix(text, radix).ok()?)?;
    let end = start + digits;
    let closed = rest.get(end) == Some(&b';');
    Some((Some(c), end + usize::from(closed)))
}

fn named(name: &str) -> Option<char> {
    Some(match name {
        "amp" | "AMP" => '&',
        "lt" | "LT" => '<',
        "gt" | "GT" => '>',
        "quot" | "QUOT" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "shy" => '\u{ad}',
        "zwj" => '\u{200d}',
        "zwnj" => '\u{200c}',
        "Tab" => '\t',
        "NewLine" => '\n',
        "excl" => '!',
        "num" => '#',
        "dollar" => '$',
        "percnt" => '%',
        "lpar" => '(',
        "rpar" => ')',
        "ast" => '*',
        "plus" => '+',
        "comma" => ',',
        "period" => '.',
        "sol" => '/',
        "colon" => ':',
        "semi" => ';',
        "equals" => '=',
        "quest" => '?',
        "commat" => '@',
        "lsqb" => '[',
        "rsqb" => ']',
        "bsol" => '\\',
        "Hat" => '^',
        "lowbar" => '_',
        "grave" => '`',
        "lcub" => '{',
        "rcub" => '}',
        "vert" => '|',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "szlig" => 'ß',
        _ => return None,
    })
}

/// `\uXXXX` or `%uXXXX`, two of them for a character beyond the basic plane.
fn utf16(rest: &[u8]) -> Read {
    let unit = hex(rest.get(2..6)?)?;
    if !(0xd800..0xdc00).contains(&unit) {
        return Some((char::from_u32(unit), 6));
    }
    let low = rest
        .get(6..12)
        .filter(|next| next[..2] == rest[..2])
        .and_then(|next| hex(&next[2..]))
        .filter(|low| (0xdc00..0xe000).contains(low))?;
    let c = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    Some((char::from_u32(c), 12))
}

fn backslash(rest: &[u8]) -> Read {
    match rest.get(1)? {
        b'u' if rest.get(2) == Some(&b'{') => {
            let end = rest.iter().take(10).position(|b| *b == b'}')?;
            Some((char::from_u32(hex(rest.get(3..end)?)?), end + 1))
        }
        b'u' => utf16(rest),
        b'x' => Some((char::from_u32(hex(rest.get(2..4)?)?), 4)),
        b'n' | b'r' | b't' => Some((Some(' '), 2)),
        b'/' => Some((Some('/'), 2)),
        b'"' => Some((Some('"'), 2)),
        b'\'' => Some((Some('\''), 2)),
        b'\\' => Some((Some('\\'), 2)),
        _ => None,
    }
}
