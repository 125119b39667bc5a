//! Takes commands off the input and hands them to the stage that carries them out.

use super::run::{Flow, Run};
use super::store::skip;
use super::{Retrieval, State, Status, Touch};
use crate::discovery::{LEGACY_HEAD, LEGACY_LINE};
use crate::replies::ChangeError;
use crate::stats;
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::meta::PlainRead;
use farcache_proto::text::{Admin, COMMAND_BYTES_MIN, Reject, Request, parse, split_line};
use farcache_store::Suspended;

/// Whether a command may change an item.
fn may_change(request: &Request<'_>) -> bool {
    !matches!(
        request,
        Request::MetaNoop
            | Request::MetaDebug { .. }
            | Request::Stats(_)
            | Request::Version
            | Request::Quit
            | Request::Http
            | Request::Admin(Admin::ClusterConfiguration)
    )
}

/// Whether a command that has been carried out is answered with an error if what it changed does
/// not become durable.
pub(super) fn tells_of_change(request: &Request<'_>) -> bool {
    match request {
        Request::Store(store) => !store.quiet,
        Request::Delete { quiet, .. }
        | Request::Touch { quiet, .. }
        | Request::Arithmetic { quiet, .. }
        | Request::Admin(Admin::FlushAll { quiet, .. }) => !quiet,
        Request::MetaSet { .. } | Request::MetaDelete(..) | Request::MetaArithmetic(..) => true,
        Request::MetaGet(_, flags) => flags.has(b'T') || flags.has(b'N'),
        _ => false,
    }
}

impl<'i> Run<'_, 'i> {
    /// Carries out the commands at the start of the input. Reads are put off until there are
    /// enough to look them up together, or something else comes.
    pub(super) fn commands(&mut self) -> Flow {
        while let Some((line, bytes)) = split_line(self.rest()) {
            if !self.take_quota() || self.is_full() {
                return self.flush().unwrap_or(Flow::Stop(Status::Yield));
            }
            let flow = match parse(line) {
                Ok(Request::PlainRead(read)) => self.plain_read(read, bytes),
                Ok(Request::Get { .. }) if line == LEGACY_LINE && self.is_in_cluster() => {
                    self.flush().or_else(|| self.legacy_configuration(bytes))
                }
                Ok(Request::Get { keys, with_cas }) => self.retrieve(
                    keys,
                    Retrieval {
                        with_cas,
                        touch: None,
                    },
                    line.len(),
                    bytes,
                ),
                Ok(request) => self
                    .flush()
                    .or_else(|| self.execute_or_forward(request, line, bytes)),
                Err(reject) => self.flush().or_else(|| self.refuse(reject, bytes)),
            };
            if let Some(flow) = flow {
                return flow;
            }
        }
        self.incomplete_line()
    }

    fn plain_read(&mut self, read: PlainRead<'i>, bytes: usize) -> Option<Flow> {
        let is_bad = read.key.len() > KEY_BYTES_MAX;
        let is_looked_at = self.ownership.looks_at_next_read() && !is_bad;
        if is_looked_at {
            if let Some(owner) = self.owner_elsewhere(read.key) {
                let flow = self.flush();
                return flow.or_else(|| self.forward(owner, &Request::PlainRead(read), bytes));
            }
            if self.context.must_bring(read.key)
                && let Some(flow) = self.flush().or_else(|| self.bring_read(&read, bytes))
            {
                return Some(flow);
            }
        }
        if (is_bad || self.batch.is_full())
            && let Some(wait) = self.flush()
        {
            return Some(wait);
        }
        let position = self.position;
        self.position += bytes;
        match is_bad {
            true => self.reject(Reject::BAD_FORMAT),
            false => {
                self.batch.push_meta(read, position);
                self.batch.note_looked_at(is_looked_at);
            }
        }
        None
    }

    /// Brings what a plain read needs.
    fn bring_read(&mut self, read: &PlainRead<'i>, bytes: usize) -> Option<Flow> {
        let flow = self.bring_for(&Request::PlainRead(*read)).err()?;
        self.look_ahead_for_peers(&self.rest()[bytes..]);
        Some(flow)
    }

    /// Answers a malformed command whose line takes so many bytes.
    fn refuse(&mut self, reject: Reject, bytes: usize) -> Option<Flow> {
        self.position += bytes;
        self.reject(match bytes {
            ..COMMAND_BYTES_MIN => Reject::BAD_FORMAT,
            _ => reject,
        });
        skip(reject.skip_bytes)
    }

    /// Carries a command out, here or where its key is owned.
    #[inline]
    fn execute_or_forward(
        &mut self,
        request: Request<'i>,
        line: &'i [u8],
        bytes: usize,
    ) -> Option<Flow> {
        if self.ownership.may_be_foreign {
            if let Some(owner) = self.foreign_owner(&request) {
                return self.forward(owner, &request, bytes);
            }
            if let Err(flow) = self.bring_for(&request) {
                return Some(flow);
            }
        }
        self.try_execute(request, line, bytes)
    }

    /// Carries a command out, or leaves no trace of it if it is suspended.
    fn try_execute(&mut self, request: Request<'i>, line: &'i [u8], bytes: usize) -> Option<Flow> {
        let (position, mark) = (self.position, self.replies.mark());
        self.has_changed |= may_change(&request);
        let tells = tells_of_change(&request);
        match self.execute(request, line, bytes) {
            Ok(flow) => {
                // Whatever is to be gone on with has not been answered.
                if tells && flow.is_none() {
                    self.replies.note_change(mark, ChangeError::Line);
                }
                flow
            }
            Err(suspended) => {
                self.position = position;
                self.replies.roll_back(mark);
                Some(Flow::Wait(State::Command, suspended))
            }
        }
    }

    /// Carries out any command but the plain reads. `bytes` is what its line takes.
    ///
    /// # Errors
    /// [`Suspended`]: it is to be forgotten, and carried out anew later.
    fn execute(
        &mut self,
        request: Request<'i>,
        line: &'i [u8],
        bytes: usize,
    ) -> Result<Option<Flow>, Suspended> {
        match request {
            Request::Store(store) => return self.store(&store, line, bytes),
            Request::MetaSet {
                key,
                value_bytes,
                flags,
            } => {
                return self.meta_set(key, value_bytes, flags, line, bytes);
            }
            Request::GetAndTouch {
                exptime,
                keys,
                with_cas,
            } => {
                let touch = Some(Touch {
                    expiry: self.context.clock.expiry(exptime),
                    exptime,
                });
                let retrieval = Retrieval { with_cas, touch };
                return Ok(self.retrieve(keys, retrieval, line.len(), bytes));
            }
            _ => self.position += bytes,
        }
        match request {
            Request::MetaGet(key, flags) => self.meta_get(key, &flags)?,
            Request::MetaDelete(key, flags) => self.meta_delete(key, &flags)?,
            Request::MetaArithmetic(key, flags) => self.meta_arithmetic(key, &flags)?,
            Request::MetaNoop if bytes < COMMAND_BYTES_MIN => self.bad_format(),
            Request::MetaNoop => self.push_line("MN"),
            Request::MetaDebug { key, is_base64 } => self.meta_debug(key, is_base64)?,
            Request::Delete { key, quiet } => self.delete(key, quiet)?,
            Request::Touch {
                key,
                exptime,
                quiet,
            } => self.touch(key, exptime, quiet)?,
            Request::Arithmetic {
                key,
                delta,
                decrement,
                quiet,
            } => {
                self.arithmetic(key, delta, decrement, quiet)?;
            }
            Request::Stats(arguments) => {
                stats::report(arguments.rest(), self.context, self.replies.buffer());
            }
            Request::Version => self.version(),
            // A browser must get no answer that could pass for one of HTTP.
            Request::Quit | Request::Http => return Ok(Some(Flow::Stop(Status::Close))),
            Request::Admin(admin) => return Ok(self.admin(admin)),
            _ => unreachable!("handled above or by the caller"),
        }
        Ok(None)
    }

    fn version(&mut self) {
        self.push(b"VERSION ");
        self.push_line(self.context.version());
    }

    fn is_in_cluster(&self) -> bool {
        self.context.host.configuration().is_some()
    }

    /// Answers [`LEGACY_LINE`], which takes so many bytes.
    fn legacy_configuration(&mut self, bytes: usize) -> Option<Flow> {
        self.position += bytes;
        self.configuration(LEGACY_HEAD);
        None
    }

    /// A retrieval command with too long a key, a malformed one: see [`Run::reject`].
    pub(super) fn bad_format(&mut self) {
        self.reject(Reject::BAD_FORMAT);
    }
}
