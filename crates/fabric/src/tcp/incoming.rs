//! Cuts one stream into packets; large values are handed over before they have arrived.

use super::stream::Stream;
use crate::error::Error;
use crate::frame::HEAD_BYTES_MAX;
use crate::port::ReceiveBody;
use std::io;
use std::ops::Range;

/// Values of more bytes than this are offered; others arrive within messages.
pub(super) const OFFER_BYTES_MIN: usize = 16 << 10;

/// Size of the input buffer: whole packets that are not offered fit with room to spare.
const BUFFER_BYTES: usize = 64 << 10;

/// memcached's packet header, as far as it matters here. Source: memcached,
/// "BinaryProtocolRevamped".
const HEADER_BYTES: usize = 24;
const MAGIC_RESPONSE: u8 = 0x81;

/// Most times that a stream is read in one go, so that others have their turn.
const READS_MAX: usize = 16;

/// What happens to the bytes that come next.
enum Stage<R> {
    /// The bytes are packets.
    Packets,
    /// The bytes are a value that has been offered, and nobody has said where it goes.
    Offered { number: u64, bytes: usize },
    /// The bytes are a value that goes into a place of the receiver's.
    Into {
        into: R,
        tag: u64,
        filled: usize,
        bytes: usize,
    },
    /// The bytes are a value that nobody wants.
    Refused { bytes_left: usize },
}

/// What has been found in the input.
pub(super) enum Found<'a, R> {
    /// Whole packets.
    Packets(&'a [u8]),
    /// A packet up to its value, which is that long.
    Head(&'a [u8], usize),
    /// A value has arrived.
    Received { into: R, tag: u64 },
}

/// The input of one stream.
pub(super) struct Incoming<R> {
    buffer: Box<[u8]>,
    /// The bytes that have been read and not handed over.
    unread: Range<usize>,
    stage: Stage<R>,
}

impl<R: ReceiveBody> Incoming<R> {
    pub(super) fn new() -> Self {
        Incoming {
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            unread: 0..0,
            stage: Stage::Packets,
        }
    }

    /// Whether input waits for [`Incoming::accept`] or [`Incoming::refuse`].
    fn is_paused(&self) -> bool {
        matches!(self.stage, Stage::Offered { .. })
    }

    /// Reads and cuts until the stream has nothing more, its turn is over, or a value is offered.
    /// `number` names the next offer. Returns whether there may be more at once.
    ///
    /// # Errors
    /// The stream has ended or is broken; what was found before has been handed over.
    pub(super) fn read(
        &mut self,
        stream: &mut Stream,
        number: u64,
        mut found: impl FnMut(Found<'_, R>),
    ) -> Result<bool, Error> {
        for _ in 0..READS_MAX {
            self.cut(number, &mut found)?;
            if self.is_paused() {
                return Ok(false);
            }
            let room = self.room().len();
            match self.read_once(stream) {
                Ok(0) => return Err(Error::PeerLost("the server closed the connection".into())),
                // Where less came than there was room for, there is nothing more.
                Ok(count) if count < room && !stream.has_buffered_input() => {
                    self.cut(number, &mut found)?;
                    return Ok(false);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::PeerLost(error.to_string())),
            }
        }
        self.cut(number, &mut found)?;
        Ok(!self.is_paused())
    }

    /// Where the next bytes go.
    fn room(&mut self) -> &mut [u8] {
        match &mut self.stage {
            Stage::Into {
                into,
                filled,
                bytes,
                ..
            } if self.unread.is_empty() => &mut into[*filled..*bytes],
            _ => &mut self.buffer[self.unread.end..],
        }
    }

    fn read_once(&mut self, stream: &mut Stream) -> io::Result<usize> {
        let count = stream.read(self.room())?;
        match &mut self.stage {
            Stage::Into { filled, .. } if self.unread.is_empty() => *filled += count,
            _ => self.unread.end += count,
        }
        Ok(count)
    }

    fn cut(&mut self, number: u64, found: &mut impl FnMut(Found<'_, R>)) -> Result<(), Error> {
        self.take_value(found);
        if matches!(self.stage, Stage::Packets) {
            self.cut_packets(number, found)?;
        }
        self.make_room();
        Ok(())
    }

    /// Moves what has been read of a value to where it goes.
    fn take_value(&mut self, found: &mut impl FnMut(Found<'_, R>)) {
        match &mut self.stage {
            Stage::Into {
                into,
                filled,
                bytes,
                ..
            } => {
                let count = (*bytes - *filled).min(self.unread.len());
                let start = self.unread.start;
                into[*filled..*filled + count].copy_from_slice(&self.buffer[start..start + count]);
                *filled += count;
                self.unread.start += count;
                if filled == bytes
                    && let Stage::Into { into, tag, .. } =
                        std::mem::replace(&mut self.stage, Stage::Packets)
                {
                    found(Found::Received { into, tag });
                }
            }
            Stage::Refused { bytes_left } => {
                let count = (*bytes_left).min(self.unread.len());
                *bytes_left -= count;
                self.unread.start += count;
                if *bytes_left == 0 {
                    self.stage = Stage::Packets;
                }
            }
            Stage::Packets | Stage::Offered { .. } => {}
        }
    }

    /// Hands over the whole packets at the start of the input, and the head of a large one behind
    /// them.
    fn cut_packets(
        &mut self,
        number: u64,
        found: &mut impl FnMut(Found<'_, R>),
    ) -> Result<(), Error> {
        let input = &self.buffer[self.unread.clone()];
        let (mut whole, mut head) = (0, None);
        while let Some(packet) = measure(&input[whole..])? {
            if packet.value_bytes > OFFER_BYTES_MIN {
                if input.len() - whole >= packet.head_bytes {
                    head = Some(packet);
                }
                break;
            }
            let bytes = packet.head_bytes + packet.value_bytes;
            if input.len() - whole < bytes {
                break;
            }
            whole += bytes;
        }
        if whole > 0 {
            found(Found::Packets(&input[..whole]));
        }
        if let Some(Measure {
            head_bytes,
            value_bytes,
        }) = head
        {
            found(Found::Head(&input[whole..whole + head_bytes], value_bytes));
            whole += head_bytes;
            self.stage = Stage::Offered {
                number,
                bytes: value_bytes,
            };
        }
        self.unread.start += whole;
        Ok(())
    }

    /// Moves the beginning of a packet to the front of the buffer where little room is behind it.
    fn make_room(&mut self) {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.buffer.len() - self.unread.end < BUFFER_BYTES / 2 && self.unread.start > 0 {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
    }

    /// Says where the offered value goes; gives the room back where there is no such offer.
    pub(super) fn accept(&mut self, offer: u64, into: R, tag: u64) -> Result<(), R> {
        match self.stage {
            Stage::Offered { number, bytes } if number == offer => {
                self.stage = Stage::Into {
                    into,
                    tag,
                    filled: 0,
                    bytes,
                };
                Ok(())
            }
            _ => Err(into),
        }
    }

    /// Says that nobody wants the offered value.
    pub(super) fn refuse(&mut self, offer: u64) -> bool {
        match self.stage {
            Stage::Offered { number, bytes } if number == offer => {
                self.stage = Stage::Refused { bytes_left: bytes };
                true
            }
            _ => false,
        }
    }

    /// Gives the room back that a value was to go to.
    pub(super) fn abandon(&mut self) -> Option<(R, u64)> {
        match std::mem::replace(&mut self.stage, Stage::Packets) {
            Stage::Into { into, tag, .. } => Some((into, tag)),
            _ => None,
        }
    }
}

/// Lengths of a packet.
struct Measure {
    head_bytes: usize,
    value_bytes: usize,
}

/// Reads the lengths of the packet at the start of `input`; `None` if its header is not there
/// whole.
fn measure(input: &[u8]) -> Result<Option<Measure>, Error> {
    let magic = input.first().copied().unwrap_or(MAGIC_RESPONSE);
    if magic != MAGIC_RESPONSE {
        return Err(Error::Malformed("an answer that is no binary packet"));
    }
    let Some(header) = input.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let key_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let head_bytes = HEADER_BYTES + usize::from(header[4]) + key_bytes;
    let body = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
    let value_bytes = (body + HEADER_BYTES)
        .checked_sub(head_bytes)
        .ok_or(Error::Malformed("extras and key longer than their body"))?;
    if head_bytes > HEAD_BYTES_MAX {
        return Err(Error::Malformed("a packet with too long a key"));
    }
    Ok(Some(Measure {
        head_bytes,
        value_bytes,
    }))
}
