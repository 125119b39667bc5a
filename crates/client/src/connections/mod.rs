//! The connections to all servers: an operation goes to the server that its key or its route names,
//! and ends with the answer of that one. Redundancy runs on this, and the [`Client`] chooses
//! between the two.
//!
//! [`Client`]: crate::Client

mod submitted;

pub(crate) use submitted::Submitted;

use crate::connect::Fabric;
use crate::distribution::Server;
use crate::driver::{ProgressThread, Shared, SoloEnd};
use crate::engine::{Elsewhere, Engine, Ticket};
use crate::{
    ClientConfig, Completion, Delivery, Error, ItemInfo, LentMemory, Operation, Reply, Route,
    Store, Values,
};
use farcache_base::version::Version;
use farcache_cluster::{Owners, ServerId};
use farcache_proto::binary::Placed;
use std::sync::Arc;
use std::time::Duration;

/// A handle that any number of threads may use. It does not keep the progress thread.
#[derive(Clone)]
pub(crate) struct Connections {
    shared: Arc<Shared>,
}

impl Connections {
    /// To the servers of these settings; nothing is connected before the first operation.
    ///
    /// # Errors
    /// [`Error::Configuration`].
    pub fn new(
        config: &ClientConfig,
        has_progress_thread: bool,
        fabric: Arc<dyn Fabric>,
    ) -> Result<Connections, Error> {
        let shared = Arc::new(Shared::new(config, has_progress_thread, fabric)?);
        Ok(Connections { shared })
    }

    /// Starts the thread that moves operations for which nobody waits.
    ///
    /// # Errors
    /// [`Error::Configuration`]: the system has no thread left.
    pub fn start_progress_thread(&self) -> Result<ProgressThread, Error> {
        ProgressThread::start(&self.shared)
            .map_err(|error| Error::Configuration(format!("no progress thread: {error}").into()))
    }

    /// The servers, in the order in which [`Route::Server`] counts them: first the servers of the
    /// list, then the servers that the cluster's maps have added.
    pub fn servers(&self) -> Arc<[Server]> {
        Arc::clone(self.shared.lock().engine.routing().servers())
    }

    /// The indexes of those that are in the list, or in the cluster's map.
    pub fn members(&self) -> Vec<usize> {
        self.shared.lock().engine.routing().members()
    }

    /// The epoch of the map by which the client goes, if it does.
    pub fn epoch(&self) -> Option<u64> {
        self.shared.lock().engine.routing().epoch()
    }

    /// The edition of the same; 0 where the client goes by its list.
    pub fn edition(&self) -> u64 {
        self.shared.lock().engine.routing().edition()
    }

    /// Asks a server for the map of its cluster, and goes by it from now on if it is newer than the
    /// one that is known.
    ///
    /// # Errors
    /// As the question ends; [`Error::Unsupported`] where the server is in no cluster.
    pub fn learn_map(&self, server: ServerId, timeout: Duration) -> Result<(), Error> {
        let delivery = Delivery {
            route: Route::Server(server.0 as usize),
            timeout: Some(timeout),
        };
        let known_edition = self.edition();
        let question = Operation::ClusterMap { known_edition };
        let reply = self.run(question, delivery).outcome?;
        self.shared.lock().engine.heed(&reply);
        Ok(())
    }

    /// The server on which a key lives; `None` without servers.
    pub fn server_of_key(&self, key: &[u8]) -> Option<usize> {
        let guard = self.shared.lock();
        guard.engine.routing().server_of_key(key)
    }

    /// The servers on which a key with so many owners lies, in the ring's order.
    pub fn owners_of_key(&self, key: &[u8], owners: usize) -> Owners {
        let guard = self.shared.lock();
        guard.engine.routing().locate(key, owners)
    }

    /// The same, and what a server is told of it.
    pub fn place(&self, key: &[u8], owners: usize) -> (Owners, Placed) {
        let guard = self.shared.lock();
        guard.engine.routing().place(key, owners)
    }

    /// Has the next operation try a server that is left alone after a failure.
    pub fn end_rest(&self, server: ServerId) {
        self.shared.lock().engine.end_rest(server.0 as usize);
    }

    /// Has a server told, with a request that it is sent anyway or after a while, that a version is
    /// complete.
    pub fn tell_complete(&self, server: ServerId, version: Version) {
        self.shared.tell_complete(server.0 as usize, version);
    }

    /// Has servers told, with requests that they are sent anyway or after a while, that a key is in
    /// use of which they were not asked.
    pub fn tell_used(&self, servers: impl Iterator<Item = ServerId>, key: &[u8]) {
        self.shared
            .tell_used(servers.map(|server| server.0 as usize), key);
    }

    /// Has all servers told of the versions that no request has told them of.
    pub fn tell_rest(&self) {
        self.shared.tell_rest();
    }

    /// Which attempt to connect to a server was the newest.
    pub fn attempt(&self, server: ServerId) -> u64 {
        self.shared.lock().engine.attempt(server.0 as usize)
    }

    /// The networks in use towards a server, if the fabric is.
    pub fn lanes(&self, server: usize) -> Option<String> {
        self.shared.lock().lanes(server)
    }

    /// Why operations on this server go over a socket, where they do.
    pub fn no_fabric(&self, server: usize) -> Option<String> {
        let guard = self.shared.lock();
        guard.engine.no_fabric(server).map(str::to_owned)
    }

    /// Registers memory with the fabric.
    ///
    /// # Errors
    /// [`Error::Configuration`]: the network's reason.
    pub fn register(&self, memory: &Arc<LentMemory>) -> Result<(), Error> {
        self.shared.lock().register(memory)
    }

    /// Ends a registration.
    pub fn unregister(&self, memory: &Arc<LentMemory>) {
        self.shared.lock().unregister(memory);
    }

    /// Begins an operation.
    #[inline]
    pub fn submit(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Submitted {
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let ticket = guard.engine.submit(operation, delivery, now_us);
        self.shared.submitted(guard, now_us);
        Submitted::new(&self.shared, ticket)
    }

    /// Begins an operation and sends it, unless more are likely to follow.
    #[inline]
    pub fn submit_batched(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Submitted {
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let ticket = guard.engine.submit(operation, delivery, now_us);
        self.shared.submitted_batched(guard, now_us);
        Submitted::new(&self.shared, ticket)
    }

    /// Begins an operation of which nobody wants to know how it ends.
    ///
    /// # Errors
    /// It cannot be sent.
    #[inline]
    pub fn submit_quietly(
        &self,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
    ) -> Result<(), Error> {
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let submitted = guard.engine.submit_quietly(operation, delivery, now_us);
        self.shared.submitted(guard, now_us);
        submitted
    }

    /// Begins a multi-get, without the keys whose values have been got elsewhere.
    ///
    /// # Panics
    /// There are more than 65,536 keys, or 8192 multi-gets are under way.
    #[inline]
    pub fn submit_get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        values: Values,
        delivery: Delivery<'_>,
        elsewhere: Elsewhere,
    ) -> Submitted {
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let engine = &mut guard.engine;
        let ticket = engine.submit_get_rest(keys, values, delivery, now_us, elsewhere);
        self.shared.submitted(guard, now_us);
        Submitted::new(&self.shared, ticket)
    }

    /// A place for the end of an operation that is carried out above: see [`Submitted::end`].
    pub fn submit_elsewhere(&self) -> Submitted {
        let ticket = self.shared.lock().engine.submit_elsewhere();
        Submitted::new(&self.shared, ticket)
    }

    /// Carries an operation out; everything that was lent to it comes back.
    #[inline]
    pub fn run(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Completion {
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let ticket = guard.engine.submit(operation, delivery, now_us);
        self.shared
            .wait_from(guard, now_us, |engine| engine.fetch(ticket))
    }

    /// Gets many values, without the keys whose values have been got elsewhere.
    ///
    /// # Panics
    /// As [`Connections::submit_get_many`].
    #[inline]
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        values: Values,
        delivery: Delivery<'_>,
        elsewhere: Elsewhere,
    ) -> Values {
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let engine = &mut guard.engine;
        let ticket = engine.submit_get_rest(keys, values, delivery, now_us, elsewhere);
        self.shared
            .wait_from(guard, now_us, |engine| engine.fetch_values(ticket))
    }

    /// Gets a value into `room`, if that can go the short way; otherwise nothing has happened.
    #[inline]
    pub fn get_solo(&self, key: &[u8], room: &mut Vec<u8>) -> Option<SoloEnd<Option<ItemInfo>>> {
        self.shared.get_solo(key, room)
    }

    /// Stores a value and tells its CAS token, if that can go the short way; otherwise nothing has
    /// happened.
    #[inline]
    pub fn store_solo(&self, store: &Store<'_>) -> Option<SoloEnd<u64>> {
        self.shared.store_solo(store)
    }

    /// Asks one server.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn ask(&self, server: usize, operation: Operation<'_>) -> Result<Reply, Error> {
        self.run(operation, to_server(server)).outcome
    }

    /// Asks all servers at the same time that are in the list, or in the cluster's map.
    pub fn ask_all<'a>(&self, operation: impl Fn() -> Operation<'a>) -> Vec<Result<Reply, Error>> {
        let submit = |server| self.submit(operation(), to_server(server));
        let asked: Vec<_> = self.members().into_iter().map(submit).collect();
        asked.into_iter().map(Submitted::wait).collect()
    }

    /// Sends what has been submitted.
    #[inline]
    pub fn flush(&self) {
        self.shared.flush();
    }

    /// Sends what has been submitted, takes in what has arrived, and calls the notices of what has
    /// ended.
    pub fn progress(&self) {
        let guard = self.shared.poll();
        self.shared.leave_noticed(guard);
    }

    /// Waits until one of these is complete; its index, or that of the first where several are.
    pub fn wait_any(&self, tickets: impl Iterator<Item = Ticket> + Clone) -> usize {
        let complete = |engine: &mut Engine| {
            let mut tickets = tickets.clone();
            tickets.position(|ticket| engine.is_complete(ticket))
        };
        self.shared.wait_for(self.shared.lock(), complete)
    }
}

fn to_server<'a>(server: usize) -> Delivery<'a> {
    Delivery {
        route: Route::Server(server),
        timeout: None,
    }
}
