//! One-time codes by time (RFC 6238), computed here so that the seed never travels.

use hmac::{Hmac, KeyInit, Mac};
use zeroize::Zeroizing;

use super::encodings;
use super::value::Secret;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

/// A seed and how codes are made from it.
pub struct Totp {
    key: Zeroizing<Vec<u8>>,
    hash: Hash,
    digits: u32,
    period: u64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TotpError {
    #[error("is neither base32 nor an otpauth:// address")]
    NotASeed,
    #[error("is for a counter, not for time (otpauth://hotp); only time-based codes work")]
    NotTime,
    #[error("asks for {0} digits; 6 to 8 work")]
    Digits(u32),
    #[error("asks for a hash that is not SHA1, SHA256 or SHA512")]
    Hash,
    #[error("asks for a period that is not between 1 and 3600 seconds")]
    Period,
}

impl Totp {
    /// Reads a base32 seed (spaces, dashes, case and padding don't matter) or an
    /// `otpauth://totp/…` address. Never quotes what it was given.
    pub fn parse(text: &Secret) -> Result<Self, TotpError> {
        let text = text.expose().trim();
        if !text.to_ascii_lowercase().starts_with("otpauth:") {
            return Self::new(text, Hash::Sha1, 6, 30);
        }
        let url = url::Url::parse(text).map_err(|_| TotpError::NotASeed)?;
        if url.host_str() != Some("totp") {
            return Err(TotpError::NotTime);
        }
        let (mut seed, mut hash, mut digits, mut period) = (None, Hash::Sha1, 6, 30);
        for (key, value) in url.query_pairs() {
            match key.as_ref() {
                "secret" => seed = Some(Zeroizing::new(value.into_owned())),
                "digits" => digits = value.parse().map_err(|_| TotpError::Digits(0))?,
                "period" => period = value.parse().map_err(|_| TotpError::Period)?,
                "algorithm" => hash = algorithm(&value)?,
                _ => {}
            }
        }
        Self::new(&seed.ok_or(TotpError::NotASeed)?, hash, digits, period)
    }

    fn new(seed: &str, hash: Hash, digits: u32, period: u64) -> Result<Self, TotpError> {
        if !(6..=8).contains(&digits) {
            return Err(TotpError::Digits(digits));
        }
        if !(1..=3600).contains(&period) {
            return Err(TotpError::Period);
        }
        let key = base32(seed).filter(|key| !key.is_empty());
        Ok(Self {
            key: key.ok_or(TotpError::NotASeed)?,
            hash,
            digits,
            period,
        })
    }

    /// The code at a time in seconds since 1970.
    pub fn at(&self, seconds: u64) -> Secret {
        let counter = (seconds / self.period).to_be_bytes();
        let mac = match self.hash {
            Hash::Sha1 => sign::<Hmac<sha1::Sha1>>(&self.key, &counter),
            Hash::Sha256 => sign::<Hmac<sha2::Sha256>>(&self.key, &counter),
            Hash::Sha512 => sign::<Hmac<sha2::Sha512>>(&self.key, &counter),
        };
        let offset = usize::from(mac[mac.len() - 1] & 15);
        let word = mac[offset..offset + 4]
            .iter()
            .fold(0u32, |word, byte| (word << 8) | u32::from(*byte));
        let code = (word & 0x7fff_ffff) % 10u32.pow(self.digits);
        let width = self.digits as usize;
        Secret::new(format!("{code:0width$}")).expect("a code has digits")
    }

    /// The seed in base32, to be registered as a secret.
    pub fn seed(&self) -> Secret {
        Secret::new(encodings::base32(&self.key)).expect("a key is never empty")
    }

    /// Seconds for which the code of `seconds` still holds.
    pub fn remaining(&self, seconds: u64) -> u64 {
        self.period - seconds % self.period
    }
}

fn sign<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn algorithm(name: &str) -> Result<Hash, TotpError> {
    match name.to_ascii_uppercase().replace('-', "").as_str() {
        "SHA1" => Ok(Hash::Sha1),
        "SHA256" => Ok(Hash::Sha256),
        "SHA512" => Ok(Hash::Sha512),
        _ => Err(TotpError::Hash),
    }
}

fn base32(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    let (mut held, mut bits) = (0u32, 0);
    for c in text.trim_end_matches('=').chars() {
        let five = match c.to_ascii_uppercase() {
            ' ' | '-' => continue,
            c @ 'A'..='Z' => c as u32 - 'A' as u32,
            c @ '2'..='7' => c as u32 - '2' as u32 + 26,
            _ => return None,
        };
        held = ((held << 5) | five) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Totp, TotpError> {
        Totp::parse(&Secret::new(text.into()).expect("text"))
    }

    fn code(algorithm: &str, key: &[u8], seconds: u64) -> String {
        let seed = encodings::base32(key);
        let uri = format!("otpauth://totp/x?secret={seed}&digits=8&algorithm={algorithm}");
        parse(&uri).expect("seed").at(seconds).expose().to_owned()
    }

    #[test]
    fn the_vectors_of_rfc_6238_hold() {
        let key = |n: usize| {
            b"1234567890"
                .iter()
                .cycle()
                .take(n)
                .copied()
                .collect::<Vec<_>>()
        };
        for (seconds, one, two, five) in [
            (59, "94287082", "46119246", "90693936"),
            (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"),
            (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"),
            (20_000_000_000, "65353130", "77737706", "47863826"),
        ] {
            assert_eq!(code("SHA1", &key(20), seconds), one);
            assert_eq!(code("SHA256", &key(32), seconds), two);
            assert_eq!(code("SHA512", &key(64), seconds), five);
        }
    }

    #[test]
    fn seeds_are_read_as_sites_print_them() {
        let plain = parse("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ").expect("seed");
        let spaced = parse(" gezd gnbv gy3t qojq gezd-gnbv-gy3t-qojq== ").expect("seed");
        assert_eq!(plain.at(59).expose(), "287082");
        assert_eq!(spaced.at(59).expose(), "287082");
        assert_eq!(plain.remaining(59), 1);
        assert_eq!(plain.remaining(60), 30);
    }

    #[test]
    fn wrong_seeds_are_refused_without_being_quoted() {
        for (text, why) in [
            ("not base32!", TotpError::NotASeed),
            ("===", TotpError::NotASeed),
            ("otpauth://hotp/x?secret=GEZDGNBV", TotpError::NotTime),
            ("otpauth://totp/x", TotpError::NotASeed),
            (
                "otpauth://totp/x?secret=GEZDGNBV&digits=9",
                TotpError::Digits(9),
            ),
            (
                "otpauth://totp/x?secret=GEZDGNBV&period=0",
                TotpError::Period,
            ),
            (
                "otpauth://totp/x?secret=GEZDGNBV&algorithm=MD5",
                TotpError::Hash,
            ),
        ] {
            assert_eq!(parse(text).err(), Some(why), "{text}");
        }
    }
}
