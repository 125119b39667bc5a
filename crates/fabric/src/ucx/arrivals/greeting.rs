//! Greetings: messages of those who are not known yet.

use crate::error::Error;
use crate::frame::{FRAME_BYTES, Frame, Kind};
use crate::ucx::address;
use crate::ucx::endpoint::EndpointId;

/// Most bytes of the packets of a greeting: a token, and room for longer ones to come.
const TOKEN_BYTES_MAX: usize = 256;

/// A greeting whose sender has no number yet.
#[derive(Debug)]
pub(in crate::ucx) struct Greeting {
    /// Place of its event in the inbox.
    pub event: usize,
    /// The endpoint that it came by.
    pub endpoint: EndpointId,
    /// The sender's address, which nobody has read.
    pub address: Vec<u8>,
}

/// Splits a greeting into frame, packets and the sender's address, which stays unread until its
/// packets have been found good: see [`crate::Port::bind`].
pub(super) fn decode<'a>(
    header: &[u8],
    data: &'a [u8],
) -> Result<(Frame, &'a [u8], &'a [u8]), Error> {
    let said: &[u8; FRAME_BYTES] = header
        .try_into()
        .map_err(|_| Error::Malformed("a greeting with a head"))?;
    let said = u32::from_le_bytes([said[20], said[21], said[22], said[23]]);
    let (packets, address) = data
        .split_at_checked(said as usize)
        .ok_or(Error::Malformed("a body of another length than said"))?;
    let (frame, _) = Frame::decode(header, packets.len())?;
    if frame.kind != Kind::Hello {
        return Err(Error::Malformed("a greeting that is none"));
    }
    if packets.len() > TOKEN_BYTES_MAX || !address::may_be_one(address) {
        return Err(Error::Malformed("a greeting that is too long or too short"));
    }
    Ok((frame, packets, address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ucx::address::Address;
    use crate::ucx::process::Process;

    fn frame(kind: Kind, body_bytes: u32) -> [u8; FRAME_BYTES] {
        let frame = Frame {
            kind,
            session: 1,
            key: 2,
            credits: 0,
            head_bytes: 0,
            body_bytes,
        };
        frame.encode()
    }

    fn an_address() -> Vec<u8> {
        address::encode(&Address {
            process: Process::this(),
            layout: 0,
            ucx: b"address",
        })
    }

    #[test]
    fn a_greeting_is_its_packets_and_an_address() {
        let header = frame(Kind::Hello, 5);
        let address = an_address();
        let data = [&b"token"[..], &address].concat();
        let (_, packets, unread) = decode(&header, &data).unwrap();
        assert_eq!((packets, unread), (&b"token"[..], &address[..]));
    }

    #[test]
    fn what_is_no_greeting_is_refused() {
        let hello = frame(Kind::Hello, 5);
        assert!(decode(&hello, b"toke").is_err());
        assert!(decode(&hello, b"token").is_err());
        let address = an_address();
        let good = &[&b"token"[..], &address].concat();
        assert!(decode(&hello, good).is_ok());
        let too_long = [&good[..], &[0; 20 << 10]].concat();
        assert!(decode(&hello, &too_long).is_err());
        assert!(decode(&hello[..20], good).is_err());
        assert!(decode(&[&hello[..], b"x"].concat(), good).is_err());
        assert!(decode(&frame(Kind::Packets, 5), good).is_err());
    }
}
