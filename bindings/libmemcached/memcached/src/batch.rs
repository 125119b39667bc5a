//! Values of one server: asked for, arrived, fetched one after the other.

use farcache_client::{Error, GetManyRequest, Values};

/// Stands for a server where values are of keys that lie on several.
pub(crate) const NO_SERVER: usize = usize::MAX;

/// Values of one server that are fetched, one after the other.
pub(crate) struct Batch {
    pub(crate) server: usize,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) answer: Answer,
    pub(crate) next: usize,
    /// Whether CAS tokens were asked for.
    pub(crate) tells_cas: bool,
}

pub(crate) enum Answer {
    Awaited(GetManyRequest),
    There(Values),
    /// Nobody waits for the answer any more.
    GivenUp,
    /// The answer has not come, which is told when values are fetched; with the values that came
    /// before.
    Missed(Error, Values),
}

/// A value with its key, as the server has it.
pub(crate) struct Found {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) flags: u32,
    pub(crate) cas: u64,
}

impl Batch {
    /// Waits for the values.
    pub(crate) fn arrive(&mut self) {
        self.answer = match std::mem::replace(&mut self.answer, Answer::GivenUp) {
            Answer::Awaited(request) => {
                let values = request.wait();
                let mut errors = values.errors().iter();
                match errors.find(|error| error.is_connection()).cloned() {
                    Some(error) => Answer::Missed(error, values),
                    None => Answer::There(values),
                }
            }
            answer => answer,
        };
    }

    /// Nobody waits for the values any more.
    pub(crate) fn give_up(&mut self) {
        self.answer = Answer::GivenUp;
    }

    /// The next value, if there is one left.
    pub(crate) fn take_next(&mut self) -> Option<Found> {
        let Answer::There(values) = &mut self.answer else {
            return None;
        };
        while let Some(key) = self.keys.get_mut(self.next) {
            let index = self.next;
            self.next += 1;
            let Ok(Some(item)) = values.get(index) else {
                continue;
            };
            let (flags, cas) = (item.flags, item.cas);
            return Some(Found {
                key: std::mem::take(key),
                value: values.take(index)?,
                flags,
                cas,
            });
        }
        None
    }

    /// Keys without a value.
    pub(crate) fn missing(&self) -> Vec<Vec<u8>> {
        let Answer::There(values) = &self.answer else {
            return self.keys.clone();
        };
        let is_missing =
            |(index, _): &(usize, &Vec<u8>)| !matches!(values.get(*index), Ok(Some(_)));
        let keys = self.keys.iter().enumerate().filter(is_missing);
        keys.map(|(_, key)| key.clone()).collect()
    }
}
