//! A client, with calls as short as checks want them.

use farcache_client::{
    Client, ClientConfig, Completion, Delivery, Error, Operation, Reply, Route, Store, StoreMode,
};

/// A client whose calls wait.
pub struct Caller {
    /// For what has no shorter call.
    pub client: Client,
}

/// A value and what is stored with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Item {
    /// The value.
    pub value: Vec<u8>,
    /// As stored.
    pub flags: u32,
    /// Its CAS token.
    pub cas: u64,
}

impl Caller {
    /// A client.
    ///
    /// # Errors
    /// If the settings cannot work.
    pub fn new(config: ClientConfig) -> Result<Self, Error> {
        Ok(Caller {
            client: Client::new(&config)?,
        })
    }

    /// Submits an operation and waits for its end.
    pub fn complete(&self, operation: Operation<'_>) -> Completion {
        self.client.complete(self.client.submit(operation))
    }

    /// What an operation brings.
    pub fn run(&self, operation: Operation<'_>) -> Result<Reply, Error> {
        self.client.wait(self.client.submit(operation))
    }

    /// What an operation brings that goes to the first server.
    pub fn run_there(&self, operation: Operation<'_>) -> Result<Reply, Error> {
        let delivery = Delivery {
            route: Route::Server(0),
            timeout: None,
        };
        let request = self.client.submit_to(operation, delivery);
        self.client.wait(request)
    }

    /// Stores in any case; the CAS token.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<u64, Error> {
        self.store(Store::set(key, value))
    }

    /// Stores in this mode; the CAS token.
    pub fn store_as(&self, mode: StoreMode, key: &[u8], value: &[u8]) -> Result<u64, Error> {
        self.store(Store {
            mode,
            ..Store::set(key, value)
        })
    }

    /// Stores; the CAS token.
    pub fn store(&self, store: Store<'_>) -> Result<u64, Error> {
        done(self.run(Operation::Store(store))?)
    }

    /// The item.
    pub fn item(&self, key: &[u8]) -> Result<Item, Error> {
        item(self.run(Operation::Get {
            key,
            into: Default::default(),
        })?)
    }

    /// The value.
    pub fn get(&self, key: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.item(key)?.value)
    }

    /// Removes the item.
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        self.run(Operation::Delete { key, cas: 0 }).map(|_| ())
    }
}

/// The CAS token of what is done.
pub fn done(reply: Reply) -> Result<u64, Error> {
    match reply {
        Reply::Done { cas } => Ok(cas),
        _ => Err(Error::Protocol("another reply than done")),
    }
}

/// The number counted to.
pub fn number(reply: Reply) -> Result<u64, Error> {
    match reply {
        Reply::Number { number, .. } => Ok(number),
        _ => Err(Error::Protocol("another reply than a number")),
    }
}

/// The item that was fetched.
pub fn item(reply: Reply) -> Result<Item, Error> {
    match reply {
        Reply::Value { value, flags, cas } => Ok(Item {
            value: value.to_vec(),
            flags,
            cas,
        }),
        _ => Err(Error::Protocol("another reply than a value")),
    }
}
