//! Keys that lie on several servers: the client's policy carries operations out. What a handle does
//! about servers that fail, copies and buffers does not apply.

use crate::context::Context;
use crate::failure::code_of;
use crate::stored::{Got, Item, Verb, answer, mode};
use farcache_client::{Client, Error, Operation, REDUNDANCY_VARIABLE, Reply, Store, Value};
use farcache_libmemcached_abi::Return;

/// What no policy allows.
const GROUP: &str =
    "the key lies on several servers, by its redundancy: a group's key cannot place it";

impl Context<'_> {
    /// The client, where the policy places the key, which is whole, on several servers.
    ///
    /// # Errors
    /// The policy does not go with the servers.
    pub(crate) fn redundant(&mut self, key: &[u8]) -> Result<Option<Client>, Return> {
        if let Some(client) = &self.state.client {
            return Ok(client.has_redundancy(key).then(|| client.clone()));
        }
        let is_asked_for =
            self.state.redundancy.is_some() || std::env::var_os(REDUNDANCY_VARIABLE).is_some();
        if !is_asked_for {
            return Ok(None);
        }
        let client = self.client()?;
        Ok(client.has_redundancy(key).then_some(client))
    }

    /// Refuses the key of a group: the key itself says where it lies.
    pub(crate) fn check_group(&mut self, group: &[u8], key: &[u8]) -> Result<(), Return> {
        match group.is_empty() || group == key {
            true => Ok(()),
            false => Err(self.fail(Return::NOT_SUPPORTED, GROUP)),
        }
    }

    /// Stores a value. The whole key, the value as servers get it and its expiry are given apart.
    pub(crate) fn store_redundantly(
        &mut self,
        client: &Client,
        item: &Item<'_>,
        verb: Verb,
        (key, value, expiry_s): (&[u8], &[u8], u32),
    ) -> Result<(), Return> {
        self.check_group(item.group, item.key)?;
        let stored = client.store(Store {
            mode: mode(verb, item.cas),
            key,
            value: Value::Copied(value),
            flags: item.flags,
            expiry_s,
            cas: item.cas,
        });
        stored.map(drop).map_err(|error| match error {
            Error::NotFound | Error::NotStored | Error::Exists => {
                answer(&error, verb, self.is_binary())
            }
            error => self.failed_together(&error),
        })
    }

    /// Carries out an operation that needs no more than its key.
    pub(crate) fn change_redundantly(
        &mut self,
        client: &Client,
        (group, key): (&[u8], &[u8]),
        operation: Operation<'_>,
    ) -> Result<Reply, Return> {
        self.check_group(group, key)?;
        let changed = client.wait(client.submit(operation));
        changed.map_err(|error| match (&error, self.is_binary()) {
            // Over the binary protocol libmemcached does not know this answer.
            (Error::NotNumeric, true) => Return::UNKNOWN_READ_FAILURE,
            _ => self.failed_together(&error),
        })
    }

    /// Gets a value.
    pub(crate) fn get_redundantly(
        &mut self,
        client: &Client,
        group: &[u8],
        (key, whole): (&[u8], &[u8]),
    ) -> Result<Got, Return> {
        self.check_group(group, key)?;
        let got = client.get(whole);
        let item = got.map_err(|error| self.failed_together(&error))?;
        let item = item.ok_or(Return::NOTFOUND)?;
        Ok(Got {
            value: self.readable(item.value)?,
            flags: item.flags,
        })
    }

    /// Removes an item.
    pub(crate) fn delete_redundantly(
        &mut self,
        client: &Client,
        group: &[u8],
        (key, whole): (&[u8], &[u8]),
    ) -> Result<(), Return> {
        self.check_group(group, key)?;
        let deleted = client.delete(whole);
        deleted.map_err(|error| self.failed_together(&error))
    }

    /// The code of a failure that is no single server's.
    pub(crate) fn failed_together(&mut self, error: &Error) -> Return {
        match error {
            Error::NotFound => Return::NOTFOUND,
            error => self.fail(code_of(error), &error.to_string()),
        }
    }
}
