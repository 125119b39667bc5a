//! Operations that are begun rather than called: under a policy they are carried out before the
//! call that begins them returns, and the request is complete from the start.

use super::Redundant;
use crate::engine::Elsewhere;
use crate::{
    Client, Completion, Delivery, Error, Item, ItemInfo, Operation, ReceiveBytes, Reply, Route,
    Store, Value,
};
use std::time::Duration;

impl Client {
    /// What carries out an operation that a policy has a plan for.
    pub(crate) fn redundant_for(&self, operation: &Operation<'_>) -> Option<&Redundant> {
        match operation {
            Operation::Get { key, .. } | Operation::Delete { key, .. } => self.redundant_of(key),
            Operation::Store(store) if store.mode != crate::StoreMode::IfNewer => {
                self.redundant_of(store.key)
            }
            _ => None,
        }
    }

    /// The values of those of these keys that lie on several servers.
    pub(crate) fn got_elsewhere<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        delivery: Delivery<'_>,
    ) -> Elsewhere {
        let mut found = Elsewhere::new();
        if self.redundant.is_none() {
            return found;
        }
        for (number, key) in keys.iter().enumerate() {
            let key = key.as_ref();
            if let Some(redundant) = self.redundant_of(key) {
                let mut value = Vec::new();
                let got = check_route(key, delivery.route)
                    .and_then(|()| redundant.get(self, key, &mut value, delivery.timeout));
                let item = |ItemInfo { flags, cas }| Item { value, flags, cas };
                found.push_back((number, got.map(|info| info.map(item))));
            }
        }
        found
    }
}

impl Redundant {
    /// Carries an operation out.
    pub fn complete(
        &self,
        client: &Client,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
    ) -> Completion {
        let Delivery { route, timeout } = delivery;
        match operation {
            Operation::Get { key, into } => self.complete_get(client, key, into, delivery),
            Operation::Delete { key, cas } => {
                let outcome = check_route(key, route)
                    .and_then(|()| self.delete_where(client, key, cas, timeout))
                    .map(|()| Reply::Done { cas: 0 });
                bare(outcome)
            }
            Operation::Store(store) => self.complete_store(client, store, delivery),
            _ => bare(Err(Error::InvalidArguments("there is no plan for this"))),
        }
    }

    fn complete_get(
        &self,
        client: &Client,
        key: &[u8],
        mut into: ReceiveBytes,
        Delivery { route, timeout }: Delivery<'_>,
    ) -> Completion {
        let mut value = Vec::new();
        let got = check_route(key, route).and_then(|()| self.get(client, key, &mut value, timeout));
        let outcome = match got {
            Ok(Some(info)) if into.fill(&value) => {
                let ItemInfo { flags, cas } = info;
                return bare(Ok(Reply::Value {
                    value: into,
                    flags,
                    cas,
                }));
            }
            Ok(Some(_)) => Err(Error::BufferTooSmall {
                value_bytes: value.len(),
            }),
            Ok(None) => Err(Error::NotFound),
            Err(error) => Err(error),
        };
        Completion {
            unused: Some(into),
            ..bare(outcome)
        }
    }

    fn complete_store(
        &self,
        client: &Client,
        store: Store<'_>,
        Delivery { route, timeout }: Delivery<'_>,
    ) -> Completion {
        let copied = Store {
            value: Value::Copied(store.value.as_slice()),
            ..store
        };
        let outcome = check_route(store.key, route)
            .and_then(|()| self.store(client, copied, timeout))
            .map(|cas| Reply::Done { cas });
        let lent = match store.value {
            Value::Copied(_) => None,
            Value::Lent(bytes) => Some(bytes),
        };
        Completion {
            lent,
            ..bare(outcome)
        }
    }

    fn delete_where(
        &self,
        client: &Client,
        key: &[u8],
        cas: u64,
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        match cas {
            0 => self.delete(client, key, timeout),
            _ => Err(Error::InvalidArguments(
                "the key's redundancy knows no deletion with a condition yet",
            )),
        }
    }
}

fn bare(outcome: Result<Reply, Error>) -> Completion {
    Completion {
        outcome,
        lent: None,
        unused: None,
    }
}

/// Where a key's servers are is for its policy to say.
fn check_route(key: &[u8], route: Route<'_>) -> Result<(), Error> {
    match route {
        Route::Key => Ok(()),
        Route::Group(group) if group == key => Ok(()),
        Route::Group(_) => Err(Error::InvalidArguments(
            "a key that lies on several servers cannot be placed by the key of a group",
        )),
        Route::Server(_) => Err(Error::InvalidArguments(
            "a key that lies on several servers is not asked from one of them",
        )),
    }
}
