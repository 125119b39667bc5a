//! The handle: submitting operations, and waiting for them.

use crate::connect::Fabric;
use crate::distribution::Server;
use crate::driver::{ProgressThread, Shared, without_notices};
use crate::redundant::{LastCopies, Redundant};
use crate::request::{GetManyRequest, Request};
use crate::{
    ClientConfig, Completion, Delivery, Error, LentMemory, Notice, Operation, Reply, Values,
};
use farcache_cluster::Owners;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A client of one or several servers. It is cheap to clone, and any number of threads may use one
/// at the same time. Nothing is connected before the first operation.
///
/// Operations that are submitted together travel together: nothing is sent before the next
/// [`Client::flush`], [`Client::test`] or wait of any kind, unless there is a progress thread
/// ([`ClientConfig::progress_thread`]).
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
    servers: Arc<[Server]>,
    /// Where keys may lie on several servers.
    pub(crate) redundant: Option<Arc<Redundant>>,
    /// Ends with the last handle, as the next one.
    _last_copies: Option<Arc<LastCopies>>,
    _progress: Option<Arc<ProgressThread>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Client of {:?}", self.servers)
    }
}

impl Client {
    /// A client with these settings.
    ///
    /// # Errors
    /// [`Error::Configuration`]: a file cannot be read, the environment names no transport, or the
    /// redundancy does not go with the servers.
    pub fn new(config: &ClientConfig) -> Result<Self, Error> {
        Self::over(config, Arc::new(crate::connect::Ucx))
    }

    /// A client whose fabric runs over this network.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn over(config: &ClientConfig, fabric: Arc<dyn Fabric>) -> Result<Self, Error> {
        let has_progress_thread = config.progress_thread_chosen()?;
        let config = &ClientConfig {
            redundancy: config.redundancy_chosen()?,
            ..config.clone()
        };
        let redundant = Redundant::new(config)?.map(Arc::new);
        let shared = Arc::new(Shared::new(config, has_progress_thread, fabric)?);
        let servers = shared.lock().engine.placement().servers().into();
        let progress = match has_progress_thread {
            false => None,
            true => Some(Arc::new(ProgressThread::start(&shared).map_err(
                |error| Error::Configuration(format!("no progress thread: {error}").into()),
            )?)),
        };
        let last_copies = redundant
            .clone()
            .map(|redundant| Arc::new(LastCopies(redundant)));
        Ok(Client {
            shared,
            servers,
            redundant,
            _last_copies: last_copies,
            _progress: progress,
        })
    }

    /// A handle that does not keep the progress thread: that ends with the last handle that does,
    /// which also waits for copies that follow an acknowledged write.
    #[must_use]
    pub fn without_progress_thread(&self) -> Client {
        Client {
            _progress: None,
            _last_copies: None,
            ..self.clone()
        }
    }

    /// The servers, in the order in which [`Route::Server`](crate::Route::Server) counts them.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The index of a server, by its name as it was given (`host:port`, with the default port where
    /// none was, or the path of a unix socket). Indexes follow the list and change with it; names
    /// do not.
    #[must_use]
    pub fn server_named(&self, name: &str) -> Option<usize> {
        let mut servers = self.servers.iter();
        servers.position(|server| server.to_string() == name)
    }

    /// The index of the server on which a key lives; `None` without servers.
    #[must_use]
    pub fn server_of_key(&self, key: &[u8]) -> Option<usize> {
        let guard = self.shared.lock();
        guard.engine.placement().server_of_key(key)
    }

    /// The indexes of the servers on which a key lies, in the order of placement: several where a
    /// policy has its value copied or cut into shards. Whether they are up, or have it, is not
    /// asked.
    #[must_use]
    pub fn servers_of_key(&self, key: &[u8]) -> Vec<usize> {
        let redundant = self.redundant_of(key);
        let owners = redundant.map_or(1, |redundant| redundant.owners(key));
        let owners = self.owners_of_key(key, owners);
        owners.iter().map(|owner| owner.0 as usize).collect()
    }

    /// The servers on which a key with so many owners lies, in the ring's order.
    pub(crate) fn owners_of_key(&self, key: &[u8], owners: usize) -> Owners {
        let guard = self.shared.lock();
        guard.engine.placement().locate(key, owners)
    }

    /// Whether a key lies on several servers, by the policy in [`ClientConfig::redundancy`] or the
    /// environment.
    #[must_use]
    pub fn has_redundancy(&self, key: &[u8]) -> bool {
        self.redundant_of(key).is_some()
    }

    /// Whether there is a policy that places any key on several servers.
    #[must_use]
    pub fn has_any_redundancy(&self) -> bool {
        self.redundant.is_some()
    }

    /// Has the next operation try a server that is left alone after a failure.
    pub(crate) fn end_rest(&self, server: usize) {
        self.shared.lock().engine.end_rest(server);
    }

    /// Which attempt to connect to a server was the newest.
    pub(crate) fn attempt(&self, server: farcache_cluster::ServerId) -> u64 {
        self.shared.lock().engine.attempt(server.0 as usize)
    }

    /// Whether operations on this server go over the fabric now, and by which networks.
    #[must_use]
    pub fn lanes(&self, server: usize) -> Option<String> {
        self.shared.lock().lanes(server)
    }

    /// Why operations on this server go over a socket, where they do: the server offers no fabric,
    /// it does not work, or UCX's tcp, which is slower, is all that leads there (then
    /// [`Transport::Fabric`](crate::Transport::Fabric) takes it all the same).
    #[must_use]
    pub fn no_fabric(&self, server: usize) -> Option<String> {
        let guard = self.shared.lock();
        guard.engine.no_fabric(server).map(str::to_owned)
    }

    /// Begins an operation.
    pub fn submit(&self, operation: Operation<'_>) -> Request {
        self.submit_to(operation, Delivery::default())
    }

    /// Begins an operation, with its own way and time limit.
    pub fn submit_to(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Request {
        if let Some(redundant) = self.redundant_for(&operation) {
            return Request::of_plan(&self.shared, redundant.begin(self, operation, delivery));
        }
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let ticket = guard.engine.submit(operation, delivery, now_us);
        self.shared.submitted(guard, now_us);
        Request::new(&self.shared, ticket)
    }

    /// Begins an operation and sends it, unless others are under way to the same server and few
    /// wait: then it waits for more to travel together with, or for the next [`Client::flush`],
    /// [`Client::test`] or wait.
    pub fn submit_batched(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Request {
        if let Some(redundant) = self.redundant_for(&operation) {
            return Request::of_plan(&self.shared, redundant.begin(self, operation, delivery));
        }
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let ticket = guard.engine.submit(operation, delivery, now_us);
        self.shared.submitted_batched(guard, now_us);
        Request::new(&self.shared, ticket)
    }

    /// Sends an operation of which nobody wants to know how it ends: a store, a deletion, counting
    /// or a flush.
    ///
    /// # Errors
    /// It cannot be sent.
    pub fn submit_quietly(
        &self,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
    ) -> Result<(), Error> {
        if let Some(redundant) = self.redundant_for(&operation) {
            let begun = redundant.begin(self, operation, delivery);
            let completion = begun.map_or_else(|ended| *ended, |mut begun| begun.wait());
            return match completion.outcome {
                // What a server answers, whom nobody asks.
                Ok(_)
                | Err(Error::NotFound | Error::NotStored | Error::Exists | Error::NotNumeric) => {
                    Ok(())
                }
                Err(error) => Err(error),
            };
        }
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let submitted = guard.engine.submit_quietly(operation, delivery, now_us);
        self.shared.submitted(guard, now_us);
        submitted
    }

    /// Begins a multi-get of up to 65,536 keys. `values` may be one that was used before, whose
    /// memory is used again.
    ///
    /// # Panics
    /// There are more keys, or 8192 multi-gets are under way.
    pub fn submit_get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        values: Values,
        delivery: Delivery<'_>,
    ) -> GetManyRequest {
        let elsewhere = self.got_elsewhere(keys, delivery);
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let engine = &mut guard.engine;
        let ticket = engine.submit_get_rest(keys, values, delivery, now_us, elsewhere);
        self.shared.submitted(guard, now_us);
        GetManyRequest(Request::new(&self.shared, ticket))
    }

    /// Sends what has been submitted.
    pub fn flush(&self) {
        self.shared.flush();
    }

    /// Sends what has been submitted, takes in what has arrived, and calls the notices of what has
    /// ended.
    pub fn progress(&self) {
        let guard = self.shared.poll();
        self.shared.leave_noticed(guard);
    }

    /// Waits so long, for whoever has to look again later and may not sleep by itself. What has been
    /// submitted is on its way meanwhile.
    pub fn pause(&self, time: Duration) {
        self.flush();
        std::thread::sleep(time);
        self.progress();
    }

    /// Has a notice called once the request is complete. Where that is fetched or dropped before,
    /// the notice may be called or not.
    ///
    /// Notices are called within [`Client::progress`], [`Client::test`] and all calls that wait, by
    /// whatever thread makes them, and by the progress thread; never within calls that only submit.
    /// They may use the client and wait; the thread calls no other notices meanwhile.
    pub fn notify(&self, request: &impl AsRef<Request>, notice: Notice) {
        // Nobody else would move its plan on.
        without_notices(|| request.as_ref().finish());
        let mut guard = self.shared.lock();
        guard.engine.notify(request.as_ref().ticket, notice);
        if guard.engine.has_notices() {
            self.shared.leave(guard);
        }
    }

    /// Registers memory with the network, so that large values are sent from there and received
    /// into it without being registered each time, and asks the system to put it into huge pages,
    /// from which a large value is sent more than twice as fast within a host. Over sockets it does
    /// nothing else. It ends with [`Client::unregister`] or the client.
    ///
    /// # Errors
    /// [`Error::Configuration`]: the network's reason, such as a limit for locked memory. A reason
    /// that is not known yet, as nothing is connected, is not told: values are registered each time
    /// then.
    pub fn register(&self, memory: &Arc<LentMemory>) -> Result<(), Error> {
        self.shared.lock().register(memory)
    }

    /// Ends a registration. Nothing that was submitted with this memory may be under way.
    pub fn unregister(&self, memory: &Arc<LentMemory>) {
        self.shared.lock().unregister(memory);
    }

    /// Whether a request is complete: waiting for it then takes no time. Moves all requests on.
    #[must_use]
    pub fn test(&self, request: &Request) -> bool {
        self.is_complete(request)
    }

    /// Whether a request is complete by what is known now; moves nothing.
    #[must_use]
    pub fn peek(&self, request: &impl AsRef<Request>) -> bool {
        request.as_ref().look();
        let mut guard = self.shared.lock();
        guard.engine.is_complete(request.as_ref().ticket)
    }

    /// As [`Client::test`].
    #[must_use]
    pub fn test_get_many(&self, request: &GetManyRequest) -> bool {
        self.is_complete(&request.0)
    }

    fn is_complete(&self, request: &Request) -> bool {
        request.test()
    }

    /// Waits for a request.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn wait(&self, request: Request) -> Result<Reply, Error> {
        self.complete(request).outcome
    }

    /// Waits for a request; everything that was lent to it comes back.
    pub fn complete(&self, mut request: Request) -> Completion {
        request.finish();
        let guard = request.shared.lock();
        let ticket = request.ticket;
        let completion = request
            .shared
            .wait_for(guard, |engine| engine.fetch(ticket));
        request.is_fetched = true;
        completion
    }

    /// Waits for a multi-get.
    pub fn wait_get_many(&self, request: GetManyRequest) -> Values {
        request.wait()
    }

    /// Waits until one of the requests is complete; returns its index. The first one counts where
    /// several are.
    ///
    /// # Panics
    /// There are no requests.
    #[must_use]
    pub fn wait_any(&self, requests: &[impl AsRef<Request>]) -> usize {
        assert!(!requests.is_empty(), "there is nothing to wait for");
        let complete = |engine: &mut crate::engine::Engine| {
            let mut requests = requests.iter();
            requests.position(|request| engine.is_complete(request.as_ref().ticket))
        };
        loop {
            requests.iter().for_each(|request| request.as_ref().look());
            let awaited = requests.iter().flat_map(|one| one.as_ref().awaited());
            let awaited: Vec<_> = awaited.collect();
            let ended = self.shared.wait_for(self.shared.lock(), |engine| {
                let is_any = |engine: &mut crate::engine::Engine| {
                    let mut awaited = awaited.iter();
                    awaited.any(|ticket| engine.is_complete(*ticket))
                };
                match complete(engine) {
                    None if is_any(engine) => Some(None),
                    ended => ended.map(Some),
                }
            });
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Carries an operation out; everything that was lent to it comes back.
    pub(crate) fn run(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Completion {
        if let Some(redundant) = self.redundant_for(&operation) {
            let begun = redundant.begin(self, operation, delivery);
            return begun.map_or_else(|ended| *ended, |mut begun| begun.wait());
        }
        let (mut guard, now_us) = self.shared.lock_to_submit();
        let ticket = guard.engine.submit(operation, delivery, now_us);
        self.shared
            .wait_from(guard, now_us, |engine| engine.fetch(ticket))
    }
}
