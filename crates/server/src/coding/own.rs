//! This server's own part of a value: the request is made by a session of its own, as another
//! server's would be.

use crate::worker::resources::{Resources, context};
use farcache_session::{Replies, Session, Status};

/// Answers a request about this server's own part; none where it has to wait for something.
pub fn answer(resources: &Resources, pieces: &[&[u8]]) -> Option<Vec<u8>> {
    if resources.holds_replies {
        return None;
    }
    let packet = pieces.concat();
    let mut session = Session::authenticated();
    let mut replies = Replies::copying(usize::MAX);
    let context = context!(resources, None);
    let mut used = 0;
    while used < packet.len() {
        let (bytes, status) = session.advance(&packet[used..], &context, &mut replies);
        used += bytes;
        match status {
            Status::NeedInput | Status::Yield => {}
            Status::ValueWanted if bytes > 0 => {}
            Status::Suspended(_) => {
                resources.store.forget_reads();
                return None;
            }
            Status::ValueWanted | Status::Close => return None,
        }
        if bytes == 0 {
            return None;
        }
    }
    Some(std::mem::take(replies.buffer()))
}
