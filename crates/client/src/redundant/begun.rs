//! Operations that are begun rather than called: their first requests are sent at once, and their
//! plans go on when somebody looks at them or waits.

use super::by_server::Sending;
use super::call::Patience;
use super::change::{Change, Told};
use super::changing::{Changed, Changing};
use super::getting::Getting;
use super::running::Writing;
use super::{Redundant, bare, deleted, unused};
use crate::connections::Submitted;
use crate::engine::Elsewhere;
use crate::{
    Completion, Delivery, Error, Item, Operation, ReceiveBytes, Reply, Route, SendBytes, Store,
    StoreMode, Value,
};
use farcache_redundancy::Side;
use std::collections::VecDeque;
use std::sync::Arc;

/// Keys of a multi-get that are read at the same time.
const READS_TOGETHER: usize = 16;

/// An operation whose plan has not ended.
pub(crate) struct Begun(Plan);

enum Plan {
    Set {
        writing: Writing,
        lent: Option<SendBytes>,
    },
    /// A server codes.
    Sent(Box<Sending>),
    Delete(Writing),
    Get(Box<Getting>),
    Change {
        changing: Box<Changing>,
        /// Room for the value that was there, where the operation brings it.
        into: Option<ReceiveBytes>,
    },
}

impl Begun {
    /// Moves it on; how it ended, once it has.
    fn go_on(&mut self, patience: Patience) -> Option<Completion> {
        match &mut self.0 {
            Plan::Set { writing, lent } => {
                let written = writing.go_on(patience).transpose()?;
                let outcome = written.and_then(|(written, _)| written);
                Some(Completion {
                    lent: lent.take(),
                    ..bare(outcome.map(|cas| Reply::Done { cas }))
                })
            }
            Plan::Sent(sending) => {
                let outcome = sending.go_on(patience)?;
                Some(Completion {
                    lent: sending.take_lent(),
                    ..bare(outcome.map(|cas| Reply::Done { cas }))
                })
            }
            Plan::Delete(writing) => {
                let outcome = writing.go_on(patience).transpose()?.and_then(deleted);
                Some(bare(outcome.map(|()| Reply::Done { cas: 0 })))
            }
            Plan::Get(getting) => getting.go_on(patience),
            Plan::Change { changing, into } => {
                let changed = changing.go_on(patience)?;
                let lent = changing.take_lent();
                Some(Completion {
                    lent,
                    ..ended(changed, into.take())
                })
            }
        }
    }

    /// Takes what is there; how it ended, once it has.
    pub fn look(&mut self) -> Option<Completion> {
        self.go_on(Patience::Looks)
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Completion {
        let end = self.go_on(Patience::Waits);
        end.unwrap_or_else(|| bare(Err(super::STILL_GOES)))
    }

    /// Whether it changes anything: that is brought to its end, whoever gives its result up.
    pub fn is_write(&self) -> bool {
        !matches!(self.0, Plan::Get(_))
    }

    /// Requests of which one must end before it goes on.
    pub fn under_way(&self) -> Vec<&Submitted> {
        match &self.0 {
            Plan::Set { writing, .. } | Plan::Delete(writing) => writing.under_way(),
            Plan::Sent(sending) => sending.under_way().into_iter().collect(),
            Plan::Get(getting) => getting.under_way(),
            Plan::Change { changing, .. } => changing.under_way(),
        }
    }
}

/// How a change ended, where it was to bring the value into this room, if it was.
fn ended(changed: Changed, into: Option<ReceiveBytes>) -> Completion {
    let Changed { outcome, present } = changed;
    let ((told, version), into) = match (outcome, into) {
        (Ok(done), into) => (done, into),
        (Err(error), None) => return bare(Err(error)),
        (Err(error), Some(into)) => return unused(into, error),
    };
    match (told, into, present) {
        (Told::Value, Some(mut value), Some(present)) => match value.fill(&present.value) {
            true => {
                let (flags, cas) = (present.flags, version.bits());
                bare(Ok(Reply::Value { value, flags, cas }))
            }
            false => {
                let value_bytes = present.value.len();
                unused(value, Error::BufferTooSmall { value_bytes })
            }
        },
        (told, _, _) => bare(Ok(told.reply(version.bits()))),
    }
}

/// How a read of a multi-get has ended.
fn got(
    (number, get): (usize, Result<Begun, Box<Completion>>),
) -> (usize, Result<Option<Item>, Error>) {
    let completion = get.map_or_else(|ended| *ended, |mut begun| begun.wait());
    let got = match completion.outcome {
        Ok(Reply::Value { value, flags, cas }) => {
            let value = value.into_vec();
            Ok(Some(Item { value, flags, cas }))
        }
        Ok(_) => Err(Error::Protocol("the answer to another question")),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    };
    (number, got)
}

impl Redundant {
    /// The values of those of these keys that lie on several servers.
    pub fn get_many<K: AsRef<[u8]>>(
        self: &Arc<Self>,
        keys: &[K],
        delivery: Delivery<'_>,
    ) -> Elsewhere {
        let mut found = Elsewhere::new();
        let mut begun = VecDeque::new();
        for (number, key) in keys.iter().enumerate() {
            let key = key.as_ref();
            if !self.has(key) {
                continue;
            }
            if begun.len() == READS_TOGETHER {
                found.extend(begun.pop_front().map(got));
            }
            let into = ReceiveBytes::default();
            let mut get = self.begin(Operation::Get { key, into }, delivery);
            // Its first requests are sent; what it is when it has ended already is told below.
            let ended = get.as_mut().ok().and_then(Begun::look);
            begun.push_back((number, ended.map_or(get, |end| Err(Box::new(end)))));
        }
        found.extend(begun.into_iter().map(got));
        found
    }

    /// Carries an operation out.
    pub fn run(self: &Arc<Self>, operation: Operation<'_>, delivery: Delivery<'_>) -> Completion {
        let begun = self.begin(operation, delivery);
        begun.map_or_else(|ended| *ended, |mut begun| begun.wait())
    }

    /// Begins an operation, or tells how it has ended already.
    pub fn begin(
        self: &Arc<Self>,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
    ) -> Result<Begun, Box<Completion>> {
        match operation {
            Operation::Get { key, into } => self.begin_get(key, into, delivery),
            Operation::Delete { key, cas: 0 } => {
                let writing = check_route(key, delivery.route)
                    .and_then(|()| self.begin_delete(key, delivery.timeout));
                let begun = writing.map(|writing| Begun(Plan::Delete(writing)));
                begun.map_err(|error| bare(Err(error)).into())
            }
            Operation::Store(store) if store.mode == StoreMode::Set && store.cas == 0 => {
                self.begin_set(store, delivery)
            }
            change => self.begin_change(change, delivery),
        }
    }

    fn begin_change(
        self: &Arc<Self>,
        mut operation: Operation<'_>,
        Delivery { route, timeout }: Delivery<'_>,
    ) -> Result<Begun, Box<Completion>> {
        let into = match &mut operation {
            Operation::GetAndTouch { into, .. } => Some(std::mem::take(into)),
            _ => None,
        };
        let checked = crate::engine::check(&operation);
        let key = crate::engine::key_of(&operation).unwrap_or_default();
        let checked = checked.and_then(|()| check_route(key, route));
        let no_plan = Error::InvalidArguments("there is no plan for this");
        let changing = match (Change::of(operation), checked) {
            (None, _) => Err(Box::new((Change::Finish, no_plan))),
            (Some(change), Err(error)) => Err(Box::new((change, error))),
            (Some(change), Ok(())) => Changing::begin(self, key, change, self.deadline(timeout)),
        };
        match changing {
            Ok(changing) => Ok(Begun(Plan::Change {
                changing: Box::new(changing),
                into,
            })),
            Err(refused) => {
                let (mut change, error) = *refused;
                Err(Box::new(Completion {
                    outcome: Err(error),
                    lent: change.take_lent(),
                    unused: into,
                }))
            }
        }
    }

    fn begin_get(
        self: &Arc<Self>,
        key: &[u8],
        mut into: ReceiveBytes,
        Delivery { route, timeout }: Delivery<'_>,
    ) -> Result<Begun, Box<Completion>> {
        let getting = check_route(key, route).and_then(|()| {
            let deadline = self.deadline(timeout);
            Getting::begin(self, key, &mut into, deadline)
        });
        match getting {
            Ok(getting) => Ok(Begun(Plan::Get(Box::new(getting)))),
            Err(error) => Err(unused(into, error).into()),
        }
    }

    fn begin_set(
        self: &Arc<Self>,
        mut store: Store<'_>,
        Delivery { route, timeout }: Delivery<'_>,
    ) -> Result<Begun, Box<Completion>> {
        if self.policy.encode() == Side::Server && check_route(store.key, route).is_ok() {
            let deadline = self.deadline(timeout);
            return Sending::begin(self, store, deadline).map(|it| Begun(Plan::Sent(it)));
        }
        let writing =
            check_route(store.key, route).and_then(|()| self.begin_store(&mut store, timeout));
        let lent = match store.value {
            Value::Copied(_) => None,
            Value::Lent(bytes) => Some(bytes),
        };
        match writing {
            Ok(writing) => Ok(Begun(Plan::Set { writing, lent })),
            Err(error) => Err(Box::new(Completion {
                lent,
                ..bare(Err(error))
            })),
        }
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
        Route::Server(_) | Route::Owner(..) => Err(Error::InvalidArguments(
            "a key that lies on several servers is not asked from one of them",
        )),
    }
}
