use crate::{Error, field, matrix::Matrix};
use arrayvec::ArrayVec;

/// The most shards of a scheme, data and parity together. The field would allow 256; no policy
/// needs so many servers, and with 32 a loss pattern is one `u32`.
pub const SHARDS_MAX: usize = 32;

/// How many data shards a value is cut into and how many parity shards are added: RS(k, m).
///
/// Shards are numbered: the data shards from 0, then the parity shards. Any k of the k + m shards
/// give the value back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scheme {
    data: u8,
    parity: u8,
}

impl Scheme {
    /// The scheme of `data` (k) and `parity` (m) shards.
    ///
    /// # Errors
    ///
    /// [`Error::Scheme`] where one of them is 0 or both together exceed [`SHARDS_MAX`].
    pub fn new(data: usize, parity: usize) -> Result<Self, Error> {
        let fits = data >= 1 && parity >= 1 && data.saturating_add(parity) <= SHARDS_MAX;
        if !fits {
            return Err(Error::Scheme { data, parity });
        }
        Ok(Self {
            data: data as u8,
            parity: parity as u8,
        })
    }

    /// The number of data shards, k.
    pub fn data_shards(self) -> usize {
        self.data.into()
    }

    /// The number of parity shards, m.
    pub fn parity_shards(self) -> usize {
        self.parity.into()
    }

    /// The number of all shards, k + m.
    pub fn shards(self) -> usize {
        self.data_shards() + self.parity_shards()
    }

    /// The length in bytes of each shard of a value of so many bytes: a k-th of it, rounded up.
    pub fn shard_bytes(self, value_bytes: usize) -> usize {
        value_bytes.div_ceil(self.data_shards())
    }

    /// Cuts a value into its data shards, without copying: each has
    /// [`shard_bytes`](Self::shard_bytes), and the last ones lack what the value lacks to k times
    /// that. What they lack counts as zeros. A shard may be empty.
    pub fn cut(self, value: &[u8]) -> ArrayVec<&[u8], SHARDS_MAX> {
        self.pieces(value).collect()
    }

    /// The data shards of a value, see [`cut`](Self::cut).
    pub(crate) fn pieces(self, value: &[u8]) -> impl Iterator<Item = &[u8]> {
        let shard_bytes = self.shard_bytes(value.len());
        let mut rest = value;
        (0..self.data).map(move |_| {
            let (shard, after) = rest.split_at(shard_bytes.min(rest.len()));
            rest = after;
            shard
        })
    }

    /// The rows of the generator matrix that make these shards from the data shards.
    ///
    /// The rows of the parity are those of ISA-L's `gf_gen_cauchy1_matrix`, except with one parity
    /// shard, which is the XOR of the data shards as ISA-L's `xor_gen` makes it.
    pub(crate) fn generator(self, shards: &[usize]) -> Matrix {
        let data = self.data_shards();
        Matrix::new(shards.len(), data, |row, column| {
            let shard = shards[row];
            if shard < data {
                u8::from(shard == column)
            } else if self.parity == 1 {
                1
            } else {
                // Both are below 256 and differ, since one is below `data` and the other is not.
                field::invert((shard ^ column) as u8)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_without_shards_or_with_too_many_are_refused() {
        for (data, parity) in [(0, 1), (1, 0), (31, 2), (usize::MAX, 1)] {
            let refused = Error::Scheme { data, parity };
            assert_eq!(Scheme::new(data, parity), Err(refused));
        }
        assert!(Scheme::new(1, 1).is_ok());
        assert!(Scheme::new(30, 2).is_ok());
    }

    #[test]
    fn a_value_is_cut_in_order_and_nothing_is_lost() {
        let scheme = Scheme::new(4, 2).unwrap();
        let lengths = |value: &[u8]| {
            scheme
                .cut(value)
                .iter()
                .map(|s| s.len())
                .collect::<Vec<_>>()
        };
        assert_eq!(lengths(b""), [0, 0, 0, 0]);
        assert_eq!(lengths(b"12345"), [2, 2, 1, 0]);
        assert_eq!(lengths(b"12345678"), [2, 2, 2, 2]);
        assert_eq!(scheme.cut(b"123456789").concat(), b"123456789");
    }

    #[test]
    fn every_square_part_of_a_cauchy_generator_is_regular() {
        let scheme = Scheme::new(4, 4).unwrap();
        for pattern in 0_u32..256 {
            let rows: Vec<_> = (0..8).filter(|shard| pattern >> shard & 1 == 1).collect();
            if rows.len() == 4 {
                assert!(scheme.generator(&rows).invert().is_some(), "{rows:?}");
            }
        }
    }
}
