//! Parts made of others' parts, and stored where nothing newer has come.

use crate::parts::replies::Reply;
use farcache_base::time::Clock;
use farcache_redundancy::plan::repair::{Make, Mended};
use farcache_redundancy::stored::{HEADER_BYTES, Header, Piece, checksum};
use farcache_redundancy::{Coder, Holders, Scheme, Version};
use farcache_store::{
    Forgotten, SetOptions, SetOutcome, StoreHandle, TombstoneOptions, VersionedDelete, settled,
};
use std::io;

/// A part that another server has brought.
pub struct Brought {
    header: Header,
    flags: u32,
    /// The answer as it came, and where the part's own header begins in it.
    packet: Vec<u8>,
    begin: usize,
}

impl Brought {
    /// The part of this version in an answer; none where that is another one, or damaged.
    pub fn new(packet: Vec<u8>, version: Version) -> Option<Brought> {
        let reply = Reply::read(&packet).ok().filter(Reply::is_success)?;
        let (header, _) = Header::split(reply.value).ok()?;
        let (flags, begin) = (reply.flags, packet.len() - reply.value.len());
        (header.version == version).then_some(Brought {
            header,
            flags,
            packet,
            begin,
        })
    }

    fn part(&self) -> &[u8] {
        &self.packet[self.begin + HEADER_BYTES..]
    }
}

/// What parts are made with.
#[derive(Default)]
pub struct Making {
    coders: Vec<Coder>,
}

impl Making {
    /// The part, with the header in front; none where what was brought does not fit together.
    fn make(&mut self, make: &Make, brought: Vec<Brought>) -> Option<(Vec<u8>, Header, u32)> {
        let first = brought.first()?;
        let (mut header, flags) = (first.header, first.flags);
        let fits = |one: &Brought| {
            one.header.value_bytes == make.value_bytes
                && one.header.expiry_unix == header.expiry_unix
                && one.flags == flags
        };
        if !brought.iter().all(fits) {
            return None;
        }
        if let Piece::Witness(_) = make.piece {
            header.piece = make.piece;
            header.checksum = checksum(&[]);
            return Some((header.encode().to_vec(), header, flags));
        }
        if header.piece == make.piece {
            return brought.into_iter().next().map(|one| {
                let mut bytes = one.packet;
                bytes.drain(..one.begin);
                (bytes, header, flags)
            });
        }
        let Piece::Shard { scheme, shard } = make.piece else {
            return None;
        };
        let mut bytes = vec![0; HEADER_BYTES + scheme.shard_bytes(make.value_bytes as usize)];
        self.code(scheme, shard, &brought, &mut bytes[HEADER_BYTES..])?;
        header.piece = make.piece;
        bytes.truncate(HEADER_BYTES + header.part_bytes());
        header.checksum = checksum(&bytes[HEADER_BYTES..]);
        bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
        Some((bytes, header, flags))
    }

    fn code(
        &mut self,
        scheme: Scheme,
        shard: u8,
        brought: &[Brought],
        part: &mut [u8],
    ) -> Option<()> {
        let known = self.coders.iter().position(|one| one.scheme() == scheme);
        let at = known.unwrap_or_else(|| {
            self.coders.push(Coder::new(scheme));
            self.coders.len() - 1
        });
        let mut present = Vec::with_capacity(brought.len());
        for one in brought {
            match one.header.piece {
                Piece::Shard {
                    scheme: other,
                    shard,
                } if other == scheme => present.push((usize::from(shard), one.part())),
                _ => return None,
            }
        }
        let wanted = &mut [(usize::from(shard), part)];
        self.coders[at].reconstruct(&present, wanted).ok()
    }

    /// Makes a part and stores it. `forgotten` is what had been forgotten before the others were
    /// asked.
    ///
    /// # Errors
    /// The store's devices cannot be read at all.
    pub fn store(
        &mut self,
        handle: &StoreHandle,
        key: &[u8],
        make: &Make,
        brought: Vec<Brought>,
        (forgotten, clock): (Forgotten, Clock),
    ) -> io::Result<Mended> {
        let Some((bytes, header, flags)) = self.make(make, brought) else {
            return Ok(Mended::Damaged);
        };
        let options = SetOptions {
            flags,
            expiry: clock.expiry(header.expiry_unix.into()),
            version: Some(make.version),
            restored: Some(forgotten),
            // A witness, that is; where all have copies there is none.
            fills_in: matches!(make.piece, Piece::Copy(holders) if holders != Holders::ALL),
            ..SetOptions::default()
        };
        let outcome = handle.run_blocking(|handle| settled(handle.set(key, &bytes, &options)))?;
        Ok(match outcome {
            Ok(SetOutcome::Stored { .. }) => {
                if make.is_complete {
                    handle.note_complete(make.version);
                }
                Mended::Stored
            }
            Ok(SetOutcome::Older { .. } | SetOutcome::Unsure { .. }) => {
                held_or_refused(handle, key, make.version)?
            }
            _ => Mended::Refused,
        })
    }
}

/// Something newer may have come meanwhile; or the key's item was dropped, and something newer with
/// it for all that is known.
fn held_or_refused(handle: &StoreHandle, key: &[u8], version: Version) -> io::Result<Mended> {
    let held = handle.run_blocking(|handle| handle.held_version(key))?;
    Ok(match held >= Some(version) {
        true => Mended::Stored,
        false => Mended::Refused,
    })
}

/// Stores a tombstone, which stays while memory suffices.
///
/// # Errors
/// As [`Making::store`].
pub fn bury(handle: &StoreHandle, key: &[u8], version: Version) -> io::Result<Mended> {
    let options = TombstoneOptions::default();
    let outcome =
        handle.run_blocking(|handle| settled(handle.delete_if_newer(key, version, &options)))?;
    Ok(match outcome {
        // What refuses it is newer, or has been forgotten, which refuses older versions likewise.
        Ok(
            VersionedDelete::Deleted { .. }
            | VersionedDelete::Older { .. }
            | VersionedDelete::Unsure { .. },
        ) => Mended::Stored,
        // Somebody changes the key just now.
        Ok(VersionedDelete::Promised { .. }) | Err(_) => Mended::Refused,
    })
}

/// Removes what was overwritten or deleted elsewhere.
///
/// # Errors
/// As [`Making::store`].
pub fn discard(handle: &StoreHandle, key: &[u8], version: Version) -> io::Result<Mended> {
    handle.run_blocking(|handle| handle.discard_version(key, version))?;
    // If it is not there any more, something newer is.
    Ok(Mended::Stored)
}
