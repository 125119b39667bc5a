//! Sizes in bytes as people write them: `64`, `4K`, `1M`, and lists and doubling ranges of them.

use std::fmt;
use std::str::FromStr;

/// Sizes in bytes, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<usize>);

impl Sizes {
    /// From `from` to `to`, doubling.
    pub fn doubling(from: usize, to: usize) -> Self {
        let sizes = std::iter::successors(Some(from.max(1)), |size| size.checked_mul(2));
        Sizes(sizes.take_while(|size| *size <= to).collect())
    }
}

impl FromStr for Sizes {
    type Err = String;

    /// A list of sizes and of ranges, which double: `1-512K`, `64,4K,1M`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                None => sizes.push(size(part)?),
                Some((low, high)) => sizes.extend(range(size(low)?, size(high)?, part)?),
            }
        }
        Ok(Sizes(sizes))
    }
}

fn range(low: usize, high: usize, text: &str) -> Result<Vec<usize>, String> {
    if low == 0 || low > high {
        return Err(format!("not a range of sizes: {text}"));
    }
    Ok(Sizes::doubling(low, high).0)
}

/// One size: a number, perhaps with K, M or G for powers of 1024.
///
/// # Errors
/// For anything else, and what does not fit.
pub fn size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let unit_bits = match text.chars().last().map(|unit| unit.to_ascii_uppercase()) {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 0,
    };
    let digits = if unit_bits == 0 {
        text
    } else {
        &text[..text.len() - 1]
    };
    let number: usize = digits
        .parse()
        .map_err(|error| format!("not a size: {text:?} ({error})"))?;
    number
        .checked_mul(1 << unit_bits)
        .ok_or_else(|| format!("too large: {text}"))
}

/// A size for people, exact: `64`, `4 KB`, `1 MB`.
pub fn size_text(bytes: usize) -> String {
    let units = [(30, "GB"), (20, "MB"), (10, "KB")];
    let unit = units
        .iter()
        .find(|(bits, _)| bytes >= 1 << bits && bytes.trailing_zeros() >= *bits);
    match unit {
        Some((bits, name)) => format!("{} {name}", bytes >> bits),
        None => format!("{bytes} B"),
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(|bytes| size_text(*bytes)).collect();
        formatter.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_parse() {
        assert_eq!("64,4K,1m".parse(), Ok(Sizes(vec![64, 4096, 1 << 20])));
        assert_eq!("1-5,1G".parse(), Ok(Sizes(vec![1, 2, 4, 1 << 30])));
        let doubled: Sizes = "1-512K".parse().unwrap();
        assert_eq!(doubled.0.len(), 20);
        assert_eq!(doubled.0.last(), Some(&(512 << 10)));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "x", "4-1", "0-4", "1,", "K", "99999999999999G"] {
            assert!(text.parse::<Sizes>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn sizes_are_written_exactly() {
        let texts = [1, 1000, 1024, 1536, 1 << 20, 512 << 20].map(size_text);
        assert_eq!(texts, ["1 B", "1000 B", "1 KB", "1536 B", "1 MB", "512 MB"]);
    }
}
