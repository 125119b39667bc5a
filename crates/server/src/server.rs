//! A running server: its threads, from start to end.

use crate::acceptor::Acceptor;
use crate::admission::Admission;
use crate::crew::{Crew, Ended, Post};
use crate::fabric::open::{Opened, open_required};
use crate::mailbox::Mailbox;
use crate::net::listen::Listener;
use crate::shared::Shared;
use crate::signals::Signals;
use crate::upgrade::registry::{Place, Registry};
use socket2::Socket;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A server whose threads are running.
pub struct Server {
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    admission: Arc<Admission>,
    workers: Vec<Ended>,
    repair: Option<JoinHandle<()>>,
}

impl Server {
    /// Has `crew` run the workers, which also serve `datagram_sockets` and, a port each when clients
    /// ask for it, the fabric.
    ///
    /// # Errors
    /// When descriptors, threads or memory are exhausted.
    pub fn start(
        shared: Arc<Shared>,
        datagram_sockets: Vec<Arc<Socket>>,
        fabric: Option<Opened>,
        crew: &dyn Crew,
    ) -> io::Result<Self> {
        let admission = Arc::new(Admission::new()?);
        let threads = shared.settings.threads;
        let mailboxes = (0..threads)
            .map(|_| Ok(Arc::new(Mailbox::new()?)))
            .collect::<io::Result<Vec<_>>>()?;
        // Before anybody asks for what this server has from before.
        let repair = crate::repair::start(&shared)?;
        let mut server = Server {
            shared,
            mailboxes,
            admission,
            workers: Vec::new(),
            repair,
        };
        fabric.map_or(Ok(()), |fabric| server.join_fabric(fabric))?;
        for index in 0..threads {
            let post = Post {
                shared: Arc::clone(&server.shared),
                index,
                mailbox: Arc::clone(&server.mailboxes[index]),
                admission: Arc::clone(&server.admission),
                datagram_sockets: datagram_sockets.clone(),
            };
            server.workers.push(crew.employ(post)?);
        }
        Ok(server)
    }

    /// Lets all threads know of the fabric.
    fn join_fabric(&self, fabric: Opened) -> io::Result<()> {
        let places = self.mailboxes.iter().map(Arc::clone).map(Place::new);
        let registry = Registry::new(
            fabric.network,
            places.collect(),
            fabric.open_port,
            Some(fabric.open_call_port),
        );
        open_required(self.shared.settings.fabric, &registry)?;
        let is_first = self.shared.fabric.set(registry).is_ok();
        assert!(is_first, "a server is started once");
        Ok(())
    }

    /// Accepts connections on the calling thread until the server is told to stop; returns when
    /// all workers have ended.
    ///
    /// # Errors
    /// When descriptors are exhausted at the start.
    pub fn serve(self, listeners: Vec<Listener>, signals: Signals) -> io::Result<()> {
        let mailboxes = self.mailboxes.clone();
        let acceptor = Acceptor::new(
            listeners,
            mailboxes,
            Arc::clone(&self.shared),
            Arc::clone(&self.admission),
            signals,
        )?;
        acceptor.run();
        self.mailboxes
            .iter()
            .for_each(|mailbox| mailbox.waker.wake());
        self.workers.into_iter().try_for_each(Ended::wait)?;
        let repair = self.repair.map_or(Ok(()), JoinHandle::join);
        repair.map_err(|_| io::Error::other("a thread has failed"))
    }
}
