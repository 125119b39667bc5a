//! The handle's connections: Farcache's client, made at the first operation.

use crate::context::{Context, Pending};
use farcache_client::{Client, ClientConfig, Delivery, Error, Operation, Reply, Request, Route};
use farcache_cluster::distribution::Server;
use farcache_libmemcached_abi::{Connection, Return};
use std::time::Duration;

/// Stands for no limit: libmemcached's negative timeouts.
const LONG: Duration = Duration::from_secs(3600);

/// Least time limit of an operation that the application does not wait for.
const IMPATIENT_LIMIT_MIN: Duration = Duration::from_secs(1);

fn milliseconds(number: i32) -> Duration {
    u64::try_from(number).map_or(LONG, Duration::from_millis)
}

impl Context<'_> {
    fn config(&self) -> ClientConfig {
        let handle = &self.handle;
        let servers = self.state.servers.iter().map(|server| {
            let host = server.hostname.to_string_lossy();
            match server.kind {
                Connection::UNIX_SOCKET => Server::unix_socket(host),
                _ => Server::new(host, server.port),
            }
            .with_weight(server.weight)
        });
        ClientConfig {
            servers: servers.collect(),
            placement: self.placement_settings(),
            transport: self.state.transport,
            credentials: self.credentials(),
            connect_timeout: milliseconds(handle.connect_timeout),
            connect_answer_timeout: Some(self.limit()),
            timeout: self.limit(),
            // Who is left alone, and for how long, is decided here: `admission`.
            reconnect_delay_min: Duration::ZERO,
            reconnect_delay_max: Duration::ZERO,
            progress_thread: self.state.has_progress_thread,
            prefers_meta: self.state.prefers_meta,
            redundancy: self.state.redundancy.clone(),
            // Other keys live where libmemcached has them.
            follows_map: self.state.redundancy.is_some(),
            ..ClientConfig::default()
        }
    }

    /// Whether the application does not wait for answers at all: its time limit is 0.
    pub(crate) fn is_impatient(&self) -> bool {
        self.handle.poll_timeout == 0
    }

    /// How long an operation may take. One that the application does not wait for still has to end.
    fn limit(&self) -> Duration {
        match self.is_impatient() {
            true => milliseconds(self.handle.connect_timeout).max(IMPATIENT_LIMIT_MIN),
            false => milliseconds(self.handle.poll_timeout),
        }
    }

    /// To one server, by its index. Connecting has a time limit of its own.
    pub(crate) fn delivery(&self, server: usize) -> Delivery<'static> {
        let connecting = match self.state.servers[server].health.is_connected {
            true => Duration::ZERO,
            false => milliseconds(self.handle.connect_timeout),
        };
        Delivery {
            route: Route::Server(server),
            timeout: Some(self.limit() + connecting),
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
        self.settle_unseen();
        self.state.client = None;
        for server in &mut self.state.servers {
            server.health.is_connected = false;
        }
    }

    /// Ends the connections by the application's wish: servers that are left alone are tried again,
    /// too.
    pub(crate) fn quit(&mut self) {
        self.settle_unseen();
        self.forget_rests();
        self.disconnect();
    }

    /// Waits for everything that was sent without waiting; tells of the first failure.
    pub(crate) fn settle(&mut self) -> Result<(), Return> {
        let mut outcome = Ok(());
        for Pending { server, request } in std::mem::take(&mut self.state.pending) {
            if let Err(error) = request.complete().outcome
                && error.is_connection()
            {
                let code = self.server_failed(server, &error);
                outcome = outcome.and(Err(code));
            }
        }
        outcome
    }

    /// Waits for everything that was sent without waiting, where the application has not asked for
    /// it and is not told of failures.
    pub(crate) fn settle_unseen(&mut self) {
        for Pending { server, request } in std::mem::take(&mut self.state.pending) {
            match request.complete().outcome {
                Err(error) if error.is_connection() => self.count_failure(server, &error),
                _ => self.answered(server),
            }
        }
    }

    /// Has an operation end before the next one begins.
    pub(crate) fn leave_pending(&mut self, server: usize, request: Request) {
        self.state.pending.push(Pending { server, request });
    }

    /// Sends an operation without waiting for how it ends; it is complete before the next one that
    /// is waited for.
    pub(crate) fn send(
        &mut self,
        operation: Operation<'_>,
        server: usize,
        at_once: bool,
    ) -> Result<(), Return> {
        if !self.state.servers[server].health.is_connected {
            // That there is no such server is told in any case.
            return self.carry_out(operation, server).map(drop);
        }
        let client = self.client()?;
        let request = client.submit_to(operation, self.delivery(server));
        self.leave_pending(server, request);
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
        self.settle_unseen();
        self.admit(server)?;
        Ok(self.client()?.submit_to(operation, self.delivery(server)))
    }

    /// Carries an operation out. An error that is a server's ordinary answer is the caller's to
    /// name.
    pub(crate) fn carry_out(
        &mut self,
        operation: Operation<'_>,
        server: usize,
    ) -> Result<Result<Reply, Error>, Return> {
        let request = self.submit(operation, server)?;
        self.complete(server, request)
    }

    /// Waits for how an operation ends, as long as the application does.
    pub(crate) fn complete(
        &mut self,
        server: usize,
        request: Request,
    ) -> Result<Result<Reply, Error>, Return> {
        if !self.is_impatient() {
            let outcome = request.complete().outcome;
            return self.judge(server, outcome);
        }
        if self.state.servers[server].health.is_connected {
            self.client()?.flush();
            self.leave_pending(server, request);
        } else {
            // Connecting has a time limit of its own.
            let outcome = request.complete().outcome;
            self.judge(server, outcome)?.ok();
        }
        Err(self.fail_at(server, Return::TIMEOUT, "timeout was set to zero"))
    }

    /// Tells a server's failure from its answer.
    fn judge<T>(
        &mut self,
        server: usize,
        outcome: Result<T, Error>,
    ) -> Result<Result<T, Error>, Return> {
        match outcome {
            Err(error) if error.is_connection() => Err(self.server_failed(server, &error)),
            outcome => {
                self.answered(server);
                Ok(outcome)
            }
        }
    }
}
