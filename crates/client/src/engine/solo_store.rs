//! One store of a small value with nothing else under way: see [`super::solo`].

use super::solo::{SUCCESS, Solo, SoloRoute, SoloStage};
use super::{Engine, encode};
use crate::operation::Operation;
use crate::store::{Store, Value};
use farcache_fabric::{Peer, Whole};
use farcache_proto::binary::{HEADER_BYTES, Opcode, Told};

/// Longest value that goes this way, in bytes: beyond, what it spares does not count.
const VALUE_BYTES_MAX: usize = 4096;

/// A store that nothing else is under way with.
#[derive(Debug)]
pub struct SoloStore {
    route: SoloRoute,
    opcode: Opcode,
    now_us: u64,
    stage: SoloStage,
}

impl Engine {
    /// Begins a store at `now_us`, if nothing else is under way or waits, its value is small and
    /// copied, and its server can be asked over the fabric at once. `packet` must be sent to
    /// [`SoloStore::peer`] before anything else happens here.
    pub fn begin_lone_store(
        &mut self,
        store: &Store<'_>,
        packet: &mut Vec<u8>,
        now_us: u64,
    ) -> Option<SoloStore> {
        let &Value::Copied(value) = &store.value else {
            return None;
        };
        if value.len() > VALUE_BYTES_MAX.min(self.settings.eager_bytes_max) {
            return None;
        }
        let operation = Operation::Store(Store {
            value: Value::Copied(value),
            ..*store
        });
        let opcode = encode::opcode(&operation);
        let route = self.begin_solo(store.key)?;
        packet.clear();
        encode::head(&operation, opcode, (route.opaque, Told::default()), packet);
        packet.extend_from_slice(value);
        Some(SoloStore {
            route,
            opcode,
            now_us,
            stage: SoloStage::UnderWay,
        })
    }
}

impl SoloStore {
    /// The server's port.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.route.peer
    }

    /// The CAS token that the message tells of, if it says that the value is stored, and nothing
    /// else.
    #[inline]
    fn stored(&self, engine: &Engine, message: &Whole<'_>) -> Option<u64> {
        let parts = (self.opcode, HEADER_BYTES);
        let (header, extras, value) = self.route.answer(engine, message, parts)?;
        let is_stored = header.status == SUCCESS && extras.is_empty() && value.is_empty();
        is_stored.then_some(header.cas)
    }
}

impl Solo for SoloStore {
    #[inline]
    fn stage(&self) -> SoloStage {
        self.stage
    }

    #[inline]
    fn begun_us(&self) -> u64 {
        self.now_us
    }

    #[inline]
    fn ends_with(&mut self, engine: &mut Engine, message: &Whole<'_>) -> bool {
        let Some(cas) = self.stored(engine, message) else {
            return false;
        };
        self.route.conclude(engine, message.frame, self.now_us);
        self.stage = SoloStage::Stored { cas };
        true
    }

    #[cold]
    fn adopt(&mut self, engine: &mut Engine) {
        if self.stage == SoloStage::UnderWay {
            let (_, ticket) = self.route.take_slot(engine, self.opcode, self.now_us);
            self.stage = SoloStage::Adopted(ticket);
        }
    }
}
