//! Part of a selection: `--shard 1/3`.

/// `1/3`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub part: usize,
    pub of: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`--shard {text}` is no part of a whole; write e.g. `--shard 1/3`");
        let (part, of) = text.split_once('/').ok_or_else(bad)?;
        let (part, of) = (
            part.parse().map_err(|_| bad())?,
            of.parse().map_err(|_| bad())?,
        );
        if part == 0 || of == 0 || part > of {
            Err(bad())
        } else {
            Ok(Self { part, of })
        }
    }
}

impl Shard {
    /// Every `of`-th of the selection, so that slow neighbours are spread.
    pub fn take<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter()
            .enumerate()
            .filter(|(n, _)| n % self.of == self.part - 1)
            .map(|(_, one)| one)
            .collect()
    }
}
