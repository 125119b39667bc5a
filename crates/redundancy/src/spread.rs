//! What a client tells a server that codes for it: how a value lies at several servers.
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! | 0 | 1 | copies, or data shards |
//! | 1 | 1 | parity shards; 0 for copies |
//! | 2 | 1 | 1 where the first copy acknowledges, plus 2 where the value is small: copied |
//! | 3 | 1 | how many servers more than necessary a read asks at once |
//! | 4 | 4 | [`owners_sum`] of the key's owners |
//! | 8 | 4 | how long the client waits, in milliseconds |
//!
//! Numbers are big-endian, as in the protocol that carries them.

use crate::plan::Form;
use crate::{Acknowledgement, Redundancy};
use farcache_base::crc32c;
use farcache_cluster::Address;
use std::time::Duration;

/// Size in bytes.
pub const SPREAD_BYTES: usize = 12;

const ASYNC: u8 = 1;
const COPIED: u8 = 2;

/// How a value lies at several servers, and how long it may take to store or read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Never [`Redundancy::None`].
    pub redundancy: Redundancy,
    /// The value is copied, though the key's redundancy says shards: it is small.
    pub is_copied: bool,
    /// How many servers more than necessary a read asks at once.
    pub spare: u8,
    /// [`owners_sum`]: a server that places the key elsewhere notices it.
    pub owners_sum: u32,
    /// How long the client waits.
    pub time: Duration,
}

impl Spread {
    /// As it is sent.
    ///
    /// # Panics
    /// The redundancy is none.
    #[must_use]
    pub fn encode(&self) -> [u8; SPREAD_BYTES] {
        let [data, parity] = match self.redundancy {
            Redundancy::None => panic!("one server needs nobody to code"),
            Redundancy::Replicate { copies, .. } => [copies, 0],
            Redundancy::Erasure(scheme) => {
                [scheme.data_shards() as u8, scheme.parity_shards() as u8]
            }
        };
        let mut bits = 0;
        if self.redundancy.is_async() {
            bits |= ASYNC;
        }
        if self.is_copied {
            bits |= COPIED;
        }
        let time_ms = u32::try_from(self.time.as_millis()).unwrap_or(u32::MAX);
        let mut bytes = [0; SPREAD_BYTES];
        bytes[..4].copy_from_slice(&[data, parity, bits, self.spare]);
        bytes[4..8].copy_from_slice(&self.owners_sum.to_be_bytes());
        bytes[8..].copy_from_slice(&time_ms.to_be_bytes());
        bytes
    }

    /// What was sent so; none where it makes no sense.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Spread> {
        let bytes: &[u8; SPREAD_BYTES] = bytes.try_into().ok()?;
        let [data, parity, bits, spare, s0, s1, s2, s3, t0, t1, t2, t3] = *bytes;
        let acknowledgement = match bits & ASYNC {
            0 => Acknowledgement::Sync,
            _ => Acknowledgement::Async,
        };
        let redundancy = match parity {
            0 => Redundancy::replicate(data.into(), acknowledgement).ok()?,
            _ => Redundancy::erasure(data.into(), parity.into()).ok()?,
        };
        let time_ms = u32::from_be_bytes([t0, t1, t2, t3]);
        let is_known = bits & !(ASYNC | COPIED) == 0;
        let spread = Spread {
            redundancy,
            is_copied: bits & COPIED != 0,
            spare,
            owners_sum: u32::from_be_bytes([s0, s1, s2, s3]),
            time: Duration::from_millis(time_ms.into()),
        };
        (is_known && spread.encode()[2] == bits).then_some(spread)
    }

    /// The form in which the value is stored.
    #[must_use]
    pub fn form(&self) -> Form {
        Form::of_value(self.redundancy, self.is_copied)
    }
}

/// What goes into [`owners_sum`] for a server at this address.
#[must_use]
pub fn owner_label(address: &Address) -> String {
    format!("{address},")
}

/// A sum of the [labels](owner_label) of a key's owners, in their order: servers and clients that
/// have the same owners have the same sum.
pub fn owners_sum(owners: impl Iterator<Item = impl AsRef<str>>) -> u32 {
    owners.fold(0, |sum, label| {
        crc32c::crc32c_append(sum, label.as_ref().as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(redundancy: &str) -> Spread {
        Spread {
            redundancy: redundancy.parse().expect("a redundancy"),
            is_copied: false,
            spare: 1,
            owners_sum: 0x0102_0304,
            time: Duration::from_millis(0x0506),
        }
    }

    #[test]
    fn it_is_read_as_it_is_written() {
        let golden = [3, 2, 0, 1, 1, 2, 3, 4, 0, 0, 5, 6];
        assert_eq!(spread("ec:3,2").encode(), golden);
        let copied = Spread {
            is_copied: true,
            ..spread("ec:3,2")
        };
        assert_eq!(copied.encode()[2], 2);
        assert_eq!(spread("replicate:3,async").encode()[..3], [3, 0, 1]);
        for one in [
            copied,
            spread("ec:10,4"),
            spread("replicate:2"),
            spread("replicate:3,async"),
        ] {
            assert_eq!(Spread::decode(&one.encode()), Some(one));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = spread("ec:3,2").encode();
        for (at, byte) in [(0, 0), (0, 31), (1, 30), (2, 1), (2, 4)] {
            let mut bytes = good;
            bytes[at] = byte;
            assert_eq!(Spread::decode(&bytes), None, "{at}: {byte}");
        }
        assert_eq!(Spread::decode(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Spread::decode(&good[1..]), None);
    }

    #[test]
    fn the_sum_tells_other_owners_and_another_order() {
        let addresses: Vec<Address> = ["a:1", "b:1", "a:11"]
            .map(|text| text.parse().expect("an address"))
            .into();
        let sum = |order: &[usize]| owners_sum(order.iter().map(|at| owner_label(&addresses[*at])));
        assert_eq!(sum(&[0, 1]), sum(&[0, 1]));
        assert_ne!(sum(&[0, 1]), sum(&[1, 0]));
        assert_ne!(sum(&[0, 1]), sum(&[2, 1]));
        assert_ne!(sum(&[0]), sum(&[0, 1]));
    }
}
