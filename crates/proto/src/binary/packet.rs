//! Whole packets, and packets whose value is still on its way.

use super::header::{HEADER_BYTES, Header};

/// Extras and key do not fit into the body that the header declares; carries that header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub Header);

impl std::fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Header {
            extras_len,
            key_len,
            body_len,
            ..
        } = self.0;
        write!(
            formatter,
            "extras of {extras_len} and key of {key_len} bytes in a body of {body_len}"
        )
    }
}

impl std::error::Error for Malformed {}

/// A packet up to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// Its header.
    pub header: Header,
    /// Its extras.
    pub extras: &'a [u8],
    /// Its key.
    pub key: &'a [u8],
    /// Bytes of the value that follows.
    pub value_len: usize,
}

impl<'a> Head<'a> {
    /// Reads the head of the packet at the start of `bytes`; `None` if it is not there whole.
    ///
    /// # Errors
    /// The lengths contradict each other; found as soon as the header is there.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Option<Head<'a>>, Malformed> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = Header::decode(header);
        let value_len = header.value_len().ok_or(Malformed(header))?;
        let Some((extras, rest)) = rest.split_at_checked(usize::from(header.extras_len)) else {
            return Ok(None);
        };
        let Some((key, _)) = rest.split_at_checked(usize::from(header.key_len)) else {
            return Ok(None);
        };
        Ok(Some(Head {
            header,
            extras,
            key,
            value_len,
        }))
    }

    /// Bytes up to the value.
    #[inline]
    pub fn head_len(&self) -> usize {
        HEADER_BYTES + self.extras.len() + self.key.len()
    }
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its header.
    pub header: Header,
    /// Its extras.
    pub extras: &'a [u8],
    /// Its key.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the packet at the start of `bytes` and returns it with its length; `None` if it is not
    /// there whole.
    ///
    /// # Errors
    /// The lengths contradict each other; found as soon as the header is there.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Option<(Packet<'a>, usize)>, Malformed> {
        let Some(head) = Head::decode(bytes)? else {
            return Ok(None);
        };
        let Some(value) = bytes[head.head_len()..].get(..head.value_len) else {
            return Ok(None);
        };
        let Head {
            header,
            extras,
            key,
            ..
        } = head;
        Ok(Some((
            Packet {
                header,
                extras,
                key,
                value,
            },
            head.head_len() + value.len(),
        )))
    }

    /// Appends the packet to `out`; the lengths in its header are taken from its parts.
    ///
    /// # Panics
    /// A part is longer than its length field can say.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_head(self.header, self.extras, self.key, self.value.len(), out);
        out.extend_from_slice(self.value);
    }
}

/// Appends a packet up to its value, of which only the length is given, to `out`; the lengths in
/// `header` are filled in.
///
/// # Panics
/// A part is longer than its length field can say.
pub fn encode_head(
    mut header: Header,
    extras: &[u8],
    key: &[u8],
    value_len: usize,
    out: &mut Vec<u8>,
) {
    header.extras_len = u8::try_from(extras.len()).expect("extras are short");
    header.key_len = u16::try_from(key.len()).expect("keys are short");
    header.body_len =
        u32::try_from(extras.len() + key.len() + value_len).expect("values are below 4 GiB");
    out.reserve(HEADER_BYTES + extras.len() + key.len());
    out.extend_from_slice(&header.encode());
    out.extend_from_slice(extras);
    out.extend_from_slice(key);
}

/// Length of the whole packets at the start that fit into so many bytes, but of one at least. The
/// lengths in their headers must be right.
#[must_use]
pub fn whole_packets(packets: &[u8], bytes_max: usize) -> usize {
    if packets.len() <= bytes_max {
        return packets.len();
    }
    let mut end = 0;
    while let Some(header) = packets[end..].first_chunk::<HEADER_BYTES>() {
        let next = end + HEADER_BYTES + Header::decode(header).body_len as usize;
        if end > 0 && next > bytes_max {
            break;
        }
        end = next;
    }
    end
}
