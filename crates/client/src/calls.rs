//! Blocking calls: each submits an operation and waits for it.

use crate::driver::SoloEnd;
use crate::engine::ticket::BATCH_KEYS_MAX;
use crate::{
    Client, Completion, Delivery, Direction, Error, Initial, Item, ItemInfo, Operation,
    ReceiveBytes, Reply, Store, StoreMode, Value, Values,
};

/// What ends no operation that was asked for.
const OTHER_REPLY: Error = Error::Protocol("the answer to another question");

impl Client {
    /// Gets an item; `None` where the key is absent.
    ///
    /// # Errors
    /// As the operation ends otherwise.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Item>, Error> {
        let mut value = Vec::new();
        let info = self.get_into(key, &mut value)?;
        Ok(info.map(|ItemInfo { flags, cas }| Item { value, flags, cas }))
    }

    /// Gets a value into a vector, whose memory is used again; `None`, and nothing of interest in
    /// the vector, where the key is absent. Do not clear the vector before: its bytes are
    /// overwritten anyway, and need not be prepared for a large value then.
    ///
    /// # Errors
    /// As the operation ends otherwise.
    pub fn get_into(
        &self,
        key: impl AsRef<[u8]>,
        value: &mut Vec<u8>,
    ) -> Result<Option<ItemInfo>, Error> {
        let key = key.as_ref();
        if let Some(redundant) = self.redundant_of(key) {
            if redundant.has_server_decode() {
                let into = ReceiveBytes::from(std::mem::take(value));
                return self.got_into(Operation::Get { key, into }, value);
            }
            return redundant.get(key, value, None);
        }
        match self.connections.get_solo(key, value) {
            Some(SoloEnd::Answered(info)) => Ok(info),
            Some(SoloEnd::Complete(completion)) => ended_in(completion, value),
            None => {
                let into = ReceiveBytes::from(std::mem::take(value));
                self.got_into(Operation::Get { key, into }, value)
            }
        }
    }

    /// Gets an item and gives it a new expiry; `None` where the key is absent.
    ///
    /// # Errors
    /// As the operation ends otherwise.
    pub fn get_and_touch(
        &self,
        key: impl AsRef<[u8]>,
        expiry_s: u32,
    ) -> Result<Option<Item>, Error> {
        let operation = Operation::GetAndTouch {
            key: key.as_ref(),
            expiry_s,
            into: ReceiveBytes::default(),
        };
        let mut value = Vec::new();
        let info = self.got_into(operation, &mut value)?;
        Ok(info.map(|ItemInfo { flags, cas }| Item { value, flags, cas }))
    }

    fn got_into(
        &self,
        operation: Operation<'_>,
        place: &mut Vec<u8>,
    ) -> Result<Option<ItemInfo>, Error> {
        ended_in(self.run(operation, Delivery::default()), place)
    }

    /// Gets many items at once.
    ///
    /// # Errors
    /// There are more than 65,536 keys. How each key ended is in the result.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Values, Error> {
        let mut values = Values::new();
        self.get_many_into(keys, &mut values)?;
        Ok(values)
    }

    /// Gets the values of several keys into memory that was used before: the cheapest way to get
    /// many small values.
    ///
    /// # Errors
    /// As [`Client::get_many`].
    pub fn get_many_into<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        values: &mut Values,
    ) -> Result<(), Error> {
        if keys.len() > BATCH_KEYS_MAX {
            return Err(Error::InvalidArguments("more than 65,536 keys"));
        }
        let delivery = Delivery::default();
        let elsewhere = self.got_elsewhere(keys, delivery);
        let (connections, before) = (&self.connections, std::mem::take(values));
        *values = connections.get_many(keys, before, delivery, elsewhere);
        Ok(())
    }

    /// Gives an item a new expiry.
    ///
    /// # Errors
    /// [`Error::NotFound`], and as the operation ends otherwise.
    pub fn touch(&self, key: impl AsRef<[u8]>, expiry_s: u32) -> Result<(), Error> {
        let key = key.as_ref();
        self.done(Operation::Touch { key, expiry_s }).map(drop)
    }

    /// Stores a value in any case; returns the item's CAS token. As with all calls that store, a
    /// value given away or shared (`Vec<u8>`, `Arc<Vec<u8>>`) is sent from where it lies if it is
    /// large.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn set<'a>(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<Value<'a>>,
        expiry_s: u32,
    ) -> Result<u64, Error> {
        self.store_as(StoreMode::Set, key.as_ref(), value.into(), expiry_s, 0)
    }

    /// Stores a value where the key is absent.
    ///
    /// # Errors
    /// [`Error::Exists`], and as the operation ends otherwise.
    pub fn add<'a>(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<Value<'a>>,
        expiry_s: u32,
    ) -> Result<u64, Error> {
        self.store_as(StoreMode::Add, key.as_ref(), value.into(), expiry_s, 0)
    }

    /// Stores a value where the key is present.
    ///
    /// # Errors
    /// [`Error::NotFound`], and as the operation ends otherwise.
    pub fn replace<'a>(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<Value<'a>>,
        expiry_s: u32,
    ) -> Result<u64, Error> {
        self.store_as(StoreMode::Replace, key.as_ref(), value.into(), expiry_s, 0)
    }

    /// Stores a value where the item still has this CAS token.
    ///
    /// # Errors
    /// [`Error::Exists`] where it has another, [`Error::NotFound`] where it is gone, and as the
    /// operation ends otherwise.
    pub fn cas<'a>(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<Value<'a>>,
        expiry_s: u32,
        cas: u64,
    ) -> Result<u64, Error> {
        self.store_as(StoreMode::Set, key.as_ref(), value.into(), expiry_s, cas)
    }

    /// Puts a value behind the one that is there.
    ///
    /// # Errors
    /// [`Error::NotStored`] where the key is absent, and as the operation ends otherwise.
    pub fn append<'a>(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<Value<'a>>,
    ) -> Result<u64, Error> {
        self.store_as(StoreMode::Append, key.as_ref(), value.into(), 0, 0)
    }

    /// Puts a value in front of the one that is there.
    ///
    /// # Errors
    /// [`Error::NotStored`] where the key is absent, and as the operation ends otherwise.
    pub fn prepend<'a>(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<Value<'a>>,
    ) -> Result<u64, Error> {
        self.store_as(StoreMode::Prepend, key.as_ref(), value.into(), 0, 0)
    }

    fn store_as(
        &self,
        mode: StoreMode,
        key: &[u8],
        value: Value<'_>,
        expiry_s: u32,
        cas: u64,
    ) -> Result<u64, Error> {
        self.store(Store {
            mode,
            key,
            value,
            flags: 0,
            expiry_s,
            cas,
        })
    }

    /// Stores a value with all that goes with it; returns the item's CAS token.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn store(&self, mut store: Store<'_>) -> Result<u64, Error> {
        if let Some(redundant) = self.redundant_of(store.key) {
            return match (store.mode, store.cas) {
                (StoreMode::Set, 0) if !redundant.has_server_encode() => {
                    redundant.store(&mut store, None)
                }
                _ => self.done(Operation::Store(store)),
            };
        }
        match self.connections.store_solo(&store) {
            Some(SoloEnd::Answered(cas)) => Ok(cas),
            Some(SoloEnd::Complete(completion)) => cas_of(completion.outcome),
            None => self.done(Operation::Store(store)),
        }
    }

    /// Stores many values at once; returns how each ended, in order.
    pub fn set_many<'a>(
        &self,
        stores: impl IntoIterator<Item = Store<'a>>,
    ) -> Vec<Result<u64, Error>> {
        let stores = stores.into_iter();
        let requests: Vec<_> = stores
            .map(|store| self.submit(Operation::Store(store)))
            .collect();
        let ended = |request| cas_of(self.wait(request));
        requests.into_iter().map(ended).collect()
    }

    /// Removes an item.
    ///
    /// # Errors
    /// [`Error::NotFound`], and as the operation ends otherwise.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = key.as_ref();
        if let Some(redundant) = self.redundant_of(key) {
            return redundant.delete(key, None);
        }
        self.done(Operation::Delete { key, cas: 0 }).map(drop)
    }

    /// Adds to a number; returns the sum.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the key is absent and `initial` is `None`, [`Error::NotNumeric`],
    /// and as the operation ends otherwise.
    pub fn increment(
        &self,
        key: impl AsRef<[u8]>,
        delta: u64,
        initial: Option<Initial>,
    ) -> Result<u64, Error> {
        self.count(Direction::Increment, key.as_ref(), delta, initial)
    }

    /// Subtracts from a number, down to 0; returns the difference.
    ///
    /// # Errors
    /// As [`Client::increment`].
    pub fn decrement(
        &self,
        key: impl AsRef<[u8]>,
        delta: u64,
        initial: Option<Initial>,
    ) -> Result<u64, Error> {
        self.count(Direction::Decrement, key.as_ref(), delta, initial)
    }

    fn count(
        &self,
        direction: Direction,
        key: &[u8],
        delta: u64,
        initial: Option<Initial>,
    ) -> Result<u64, Error> {
        let operation = Operation::Arithmetic {
            direction,
            key,
            delta,
            initial,
        };
        match self.run(operation, Delivery::default()).outcome? {
            Reply::Number { number, .. } => Ok(number),
            _ => Err(OTHER_REPLY),
        }
    }

    /// Drops every item of every server, now or so many seconds later.
    ///
    /// # Errors
    /// The first that any server gave; the others were asked all the same.
    pub fn flush_all(&self, delay_s: u32) -> Result<(), Error> {
        let replies = self.connections.ask_all(|| Operation::Flush { delay_s });
        replies.into_iter().try_for_each(|reply| reply.map(drop))
    }

    /// Asks every server for its version.
    pub fn versions(&self) -> Vec<Result<String, Error>> {
        let replies = self.connections.ask_all(|| Operation::Version).into_iter();
        let text = |reply| match reply {
            Reply::Text(text) => Ok(text),
            _ => Err(OTHER_REPLY),
        };
        replies.map(|reply| reply.and_then(text)).collect()
    }

    /// Asks a server for statistics: all that is general where `group` is empty.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn statistics(&self, server: usize, group: &str) -> Result<Vec<(String, String)>, Error> {
        let group = group.as_bytes();
        match self
            .connections
            .ask(server, Operation::Statistics { group })?
        {
            Reply::Statistics(statistics) => Ok(statistics),
            _ => Err(OTHER_REPLY),
        }
    }

    /// Asks a server to answer.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn noop(&self, server: usize) -> Result<(), Error> {
        self.connections.ask(server, Operation::Noop).map(drop)
    }

    /// Sets how much every server logs: 0 to 2. Only for Farcache's servers, see
    /// [`Operation::Verbosity`].
    ///
    /// # Errors
    /// The first that any server gave; the others were asked all the same.
    pub fn verbosity(&self, level: u32) -> Result<(), Error> {
        let replies = self.connections.ask_all(|| Operation::Verbosity { level });
        replies.into_iter().try_for_each(|reply| reply.map(drop))
    }

    fn done(&self, operation: Operation<'_>) -> Result<u64, Error> {
        cas_of(self.run(operation, Delivery::default()).outcome)
    }
}

/// How a get has ended, whose room was `place`'s.
fn ended_in(completion: Completion, place: &mut Vec<u8>) -> Result<Option<ItemInfo>, Error> {
    if let Some(unused) = completion.unused {
        *place = unused.into_vec();
    }
    match completion.outcome {
        Ok(Reply::Value { value, flags, cas }) => {
            *place = value.into_vec();
            Ok(Some(ItemInfo { flags, cas }))
        }
        Ok(_) => Err(OTHER_REPLY),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

fn cas_of(outcome: Result<Reply, Error>) -> Result<u64, Error> {
    match outcome? {
        Reply::Done { cas } => Ok(cas),
        _ => Err(OTHER_REPLY),
    }
}
