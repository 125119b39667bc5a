//! The handle's connections: Farcache's client, made at the first operation.

use crate::context::Context;
use farcache_client::distribution::Server;
use farcache_client::{
    Client, ClientConfig, Completion, Delivery, Error, Operation, Reply, Request, Route,
};
use farcache_libmemcached_abi::{Connection, Return, flags};
use std::time::Duration;

/// Stands for no limit: libmemcached's negative timeouts.
const LONG: Duration = Duration::from_secs(3600);

fn milliseconds(number: i32) -> Duration {
    u64::try_from(number).map_or(LONG, Duration::from_millis)
}

/// To one server, by its index.
pub(crate) fn delivery(server: usize) -> Delivery<'static> {
    Delivery {
        route: Route::Server(server),
        timeout: None,
    }
}

impl Context<'_> {
    fn config(&self) -> ClientConfig {
        let handle = &self.handle;
        let retry = Duration::from_secs(u64::try_from(handle.retry_timeout).unwrap_or(0));
        let servers = self.state.servers.iter().map(|server| {
            let host = server.hostname.to_string_lossy();
            match server.kind {
                Connection::UNIX_SOCKET => Server::unix_socket(host),
                _ => Server::new(host, server.port),
            }
        });
        ClientConfig {
            servers: servers.collect(),
            transport: self.state.transport,
            credentials: self.credentials(),
            connect_timeout: milliseconds(handle.connect_timeout),
            timeout: milliseconds(handle.poll_timeout),
            reconnect_delay_min: retry,
            reconnect_delay_max: retry,
            progress_thread: self.state.has_progress_thread,
            prefers_meta: self.state.prefers_meta,
            ..ClientConfig::default()
        }
    }

    /// The client, connected or not.
    pub(crate) fn client(&mut self) -> Result<Client, Return> {
        if let Some(client) = &self.state.client {
            return Ok(client.clone());
        }
        match Client::new(&self.config()) {
            Ok(client) => Ok(self.state.client.insert(client).clone()),
            Err(error) => Err(self.fail(Return::INVALID_ARGUMENTS, &error.to_string())),
        }
    }

    /// Ends the connections, after what is under way. The next operation connects anew.
    pub(crate) fn disconnect(&mut self) {
        // What has not arrived is given up.
        self.state.batches.clear();
        if let Some(client) = self.state.client.take() {
            for request in self.state.pending.drain(..) {
                let _ = client.complete(request);
            }
        }
    }

    /// A setting that a connection is made with has changed.
    pub(crate) fn timeouts_changed(&mut self) {
        self.disconnect();
    }

    /// Waits for everything that was sent without waiting; tells of the first failure.
    pub(crate) fn settle(&mut self) -> Result<(), Return> {
        if self.state.pending.is_empty() {
            return Ok(());
        }
        let client = self.client()?;
        let pending = std::mem::take(&mut self.state.pending);
        let failed = |request| client.complete(request).outcome.err();
        let failures: Vec<Error> = pending.into_iter().filter_map(failed).collect();
        match failures.iter().find(|error| error.is_connection()) {
            Some(error) => Err(self.fail(code_of(error), &error.to_string())),
            None => Ok(()),
        }
    }

    /// Sends an operation without waiting for how it ends; it is complete before the next one that is waited for.
    pub(crate) fn send(
        &mut self,
        operation: Operation<'_>,
        server: usize,
        at_once: bool,
    ) -> Result<(), Return> {
        let client = self.client()?;
        self.state
            .pending
            .push(client.submit_to(operation, delivery(server)));
        if self.state.pending.len() >= self.handle.io_msg_watermark.max(1) as usize {
            self.settle()?;
        } else if at_once {
            client.flush();
        }
        Ok(())
    }

    /// Begins an operation that is waited for, behind those that are not.
    pub(crate) fn submit(
        &mut self,
        operation: Operation<'_>,
        server: usize,
    ) -> Result<Request, Return> {
        let _ = self.settle();
        Ok(self.client()?.submit_to(operation, delivery(server)))
    }

    /// Carries an operation out. An error that is a server's ordinary answer is the caller's to name.
    pub(crate) fn carry_out(
        &mut self,
        operation: Operation<'_>,
        server: usize,
    ) -> Result<Result<Reply, Error>, Return> {
        let request = self.submit(operation, server)?;
        let Completion { outcome, .. } = self.client()?.complete(request);
        self.judge(server, outcome)
    }

    /// Tells a server's failure from its answer.
    pub(crate) fn judge<T>(
        &mut self,
        server: usize,
        outcome: Result<T, Error>,
    ) -> Result<Result<T, Error>, Return> {
        match outcome {
            Err(error) if error.is_connection() => Err(self.server_failed(server, &error)),
            outcome => {
                self.state.servers[server].failures = 0;
                Ok(outcome)
            }
        }
    }

    /// Remembers that a server failed, and takes it out of the ring for a time if that is wished and it is enough.
    pub(crate) fn server_failed(&mut self, server: usize, error: &Error) -> Return {
        let code = self.fail_at(server, code_of(error), &error.to_string());
        self.lost(server);
        let limit = self.handle.server_failure_limit;
        let failed = &mut self.state.servers[server];
        failed.failures += 1;
        if self.handle.has(flags::AUTO_EJECT_HOSTS) && failed.failures >= limit {
            let wait_s = match self.handle.dead_timeout {
                0 => self.handle.retry_timeout,
                dead_timeout => dead_timeout,
            };
            failed
                .next_retry
                .set(crate::server::now_s() + libc::time_t::from(wait_s));
            failed.failures = 0;
            if crate::placement::is_consistent(self.handle.distribution) {
                self.make_ring();
            }
        }
        code
    }
}

/// The return code of a failure that is the same whatever was asked.
pub(crate) fn code_of(error: &Error) -> Return {
    match error {
        Error::NotFound => Return::NOTFOUND,
        Error::NotStored => Return::NOTSTORED,
        Error::Exists => Return::DATA_EXISTS,
        Error::TooLarge => Return::E2BIG,
        Error::OutOfMemory => Return::SERVER_MEMORY_ALLOCATION_FAILURE,
        Error::NotNumeric => Return::CLIENT_ERROR,
        Error::InvalidKey => Return::BAD_KEY_PROVIDED,
        Error::BufferTooSmall { .. } => Return::E2BIG,
        Error::InvalidArguments(_) => Return::INVALID_ARGUMENTS,
        Error::Timeout => Return::TIMEOUT,
        Error::ServerDead => Return::SERVER_TEMPORARILY_DISABLED,
        Error::Connect(_) | Error::ConnectionLost(_) | Error::FabricUnavailable(_) => {
            Return::CONNECTION_FAILURE
        }
        Error::AuthFailed(_) => Return::AUTH_FAILURE,
        Error::Unsupported | Error::Protocol(_) => Return::PROTOCOL_ERROR,
        Error::Server { .. } => Return::SERVER_ERROR,
        Error::NoServers => Return::NO_SERVERS,
        Error::Configuration(_) => Return::INVALID_ARGUMENTS,
    }
}
