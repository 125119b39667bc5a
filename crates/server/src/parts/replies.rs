//! What other servers are asked, and what they answer: packets of the binary protocol.

use farcache_peers::listing::Inquiry;
use farcache_proto::binary::{
    HEADER_BYTES, Header, INCOMPLETE, MAGIC_REQUEST, MAGIC_RESPONSE, ONLY_PROMISED, Opcode, Status,
    encode_head, encode_u32,
};
use farcache_redundancy::Version;
use farcache_redundancy::plan::repair::{HeldPart, PartInfo};
use farcache_redundancy::stored;

/// An answer makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;

fn request(opcode: Opcode, extras: &[u8], key: &[u8]) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        ..Header::default()
    };
    let mut packet = Vec::new();
    encode_head(header, extras, key, 0, &mut packet);
    packet
}

/// Asks for a page of a list.
pub fn list(inquiry: &Inquiry) -> Vec<u8> {
    request(Opcode::ListParts, &inquiry.encode(), &[])
}

/// Asks what a server has of a key, and for so many bytes of it.
pub fn get(key: &[u8], bytes_max: usize) -> Vec<u8> {
    let bytes_max = u32::try_from(bytes_max).unwrap_or(u32::MAX);
    request(Opcode::GetVersioned, &encode_u32(bytes_max), key)
}

/// A packet that came as an answer.
pub struct Reply<'a> {
    /// What became of the request.
    pub status: u16,
    /// The version.
    pub cas: u64,
    /// The server was not told that the version is complete.
    pub is_incomplete: bool,
    /// Nothing but a promise was in the way.
    pub is_only_promised: bool,
    /// The client's flags, of a value.
    pub flags: u32,
    /// The value.
    pub value: &'a [u8],
}

impl Reply<'_> {
    /// Takes a packet apart.
    ///
    /// # Errors
    /// [`Nonsense`]
    pub fn read(bytes: &[u8]) -> Result<Reply<'_>, Nonsense> {
        let (head, body) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(Nonsense)?;
        let header = Header::decode(head);
        let (extras_len, key_len) = (header.extras_len.into(), usize::from(header.key_len));
        let is_packet = header.magic == MAGIC_RESPONSE && header.body_len as usize == body.len();
        let (extras, rest) = body
            .split_at_checked(extras_len)
            .filter(|_| is_packet)
            .ok_or(Nonsense)?;
        let (_, value) = rest.split_at_checked(key_len).ok_or(Nonsense)?;
        Ok(Reply {
            status: header.status,
            cas: header.cas & !INCOMPLETE,
            is_incomplete: header.cas & INCOMPLETE != 0,
            is_only_promised: header.data_type & ONLY_PROMISED != 0,
            flags: extras
                .try_into()
                .map_or(0, |flags: [u8; 4]| u32::from_be_bytes(flags)),
            value,
        })
    }

    /// Whether it says that the request was carried out.
    pub fn is_success(&self) -> bool {
        self.status == Status::Success as u16
    }

    /// What a server has of a key, and what it has forgotten where it has nothing.
    ///
    /// # Errors
    /// [`Nonsense`], also where the server has failed.
    pub fn held(&self) -> Result<(Option<HeldPart>, Option<Version>), Nonsense> {
        let version = Version::from_bits(self.cas);
        if self.status == Status::NotFound as u16 {
            return Ok((None, version));
        }
        let version = version.ok_or(Nonsense)?;
        if self.status == Status::Deleted as u16 {
            let part = None;
            return Ok((Some(HeldPart { version, part }), None));
        }
        if !self.is_success() {
            return Err(Nonsense);
        }
        let header = stored::Header::decode(self.value).ok();
        // Something that is no part, or damaged, is as good as nothing.
        let header = header.filter(|header| header.version == version);
        let held = header.map(|header| HeldPart {
            version,
            part: Some(PartInfo {
                piece: header.piece,
                owners: header.owners() as u8,
                value_bytes: header.value_bytes,
            }),
        });
        Ok((held, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_redundancy::Holders;
    use farcache_redundancy::stored::Piece;

    fn reply(status: Status, cas: u64, extras: &[u8], value: &[u8]) -> Vec<u8> {
        let header = Header {
            magic: MAGIC_RESPONSE,
            opcode: Opcode::GetVersioned as u8,
            status: status as u16,
            cas,
            ..Header::default()
        };
        let mut packet = Vec::new();
        encode_head(header, extras, &[], value.len(), &mut packet);
        packet.extend_from_slice(value);
        packet
    }

    fn held(packet: &[u8]) -> Result<(Option<HeldPart>, Option<Version>), Nonsense> {
        Reply::read(packet)?.held()
    }

    #[test]
    fn what_a_server_has_is_read_from_its_answer() {
        let version = Version::from_bits(0x2_8000_0003).expect("a version");
        let header = stored::Header {
            piece: Piece::Copy(Holders::ALL),
            owners: 3,
            value_bytes: 9,
            expiry_unix: 0,
            version,
            checksum: 0,
        };
        let flags = 7_u32.to_be_bytes();
        let packet = reply(Status::Success, version.bits(), &flags, &header.encode());
        let part = PartInfo {
            piece: Piece::Copy(Holders::ALL),
            owners: 3,
            value_bytes: 9,
        };
        let part = Some(part);
        assert_eq!(held(&packet), Ok((Some(HeldPart { version, part }), None)));
        assert_eq!(Reply::read(&packet).map(|reply| reply.flags), Ok(7));
        let packet = reply(Status::Deleted, version.bits(), &[], b"Deleted");
        let part = None;
        assert_eq!(held(&packet), Ok((Some(HeldPart { version, part }), None)));
        let packet = reply(Status::NotFound, version.bits(), &[], b"Not found");
        assert_eq!(held(&packet), Ok((None, Some(version))));
        let packet = reply(Status::NotFound, 0, &[], b"Not found");
        assert_eq!(held(&packet), Ok((None, None)));
        // Of another version than its header says, or no part at all.
        for value in [&header.encode()[..], b"no part"] {
            let packet = reply(Status::Success, version.bits() + 1, &flags, value);
            assert_eq!(held(&packet), Ok((None, None)));
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let packet = reply(Status::NotFound, 0, &[], b"Not found");
        for end in 0..packet.len() {
            assert!(Reply::read(&packet[..end]).is_err(), "cut at {end}");
        }
        let mut other = packet.clone();
        other[0] = MAGIC_REQUEST;
        assert!(Reply::read(&other).is_err());
        let mut longer = packet.clone();
        longer[2..4].copy_from_slice(&1000_u16.to_be_bytes());
        assert!(Reply::read(&longer).is_err());
        let failed = reply(Status::TemporaryFailure, 0, &[], b"");
        assert_eq!(held(&failed), Err(Nonsense));
    }
}
