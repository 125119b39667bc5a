//! A running server: its threads, from start to end.

use crate::acceptor::Acceptor;
use crate::admission::Admission;
use crate::fabric::ServerPort;
use crate::fabric::open::Opened;
use crate::mailbox::Mailbox;
use crate::net::listen::Listener;
use crate::shared::Shared;
use crate::signals::Signals;
use crate::upgrade::registry::{Place, Registry};
use crate::worker::Worker;
use socket2::Socket;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A server whose threads are running.
pub struct Server {
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    admission: Arc<Admission>,
    workers: Vec<JoinHandle<()>>,
    repair: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the workers, which also serve `datagram_sockets` and, a port each, the fabric.
    ///
    /// # Errors
    /// When descriptors, threads or memory are exhausted.
    pub fn start(
        shared: Arc<Shared>,
        datagram_sockets: Vec<Arc<Socket>>,
        fabric: Option<Opened>,
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
        let ports = fabric.map_or_else(Vec::new, |fabric| server.join_fabric(fabric));
        let mut ports = ports.into_iter();
        for index in 0..threads {
            let worker = server.start_worker(index, datagram_sockets.clone(), ports.next())?;
            server.workers.push(worker);
        }
        Ok(server)
    }

    /// Lets all threads know of the fabric.
    fn join_fabric(&self, fabric: Opened) -> Vec<Box<ServerPort>> {
        let places = fabric.ports.iter().zip(&self.mailboxes);
        let places =
            places.map(|(port, mailbox)| Place::new(port.address().to_vec(), Arc::clone(mailbox)));
        let registry = Registry::new(
            fabric.network,
            places.collect(),
            Some(fabric.open_call_port),
        );
        let is_first = self.shared.fabric.set(registry).is_ok();
        assert!(is_first, "a server is started once");
        fabric.ports
    }

    fn start_worker(
        &self,
        index: usize,
        sockets: Vec<Arc<Socket>>,
        port: Option<Box<ServerPort>>,
    ) -> io::Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        let mailbox = Arc::clone(&self.mailboxes[index]);
        let admission = Arc::clone(&self.admission);
        let (report, started) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name(format!("worker-{index}"))
            .spawn(
                move || match Worker::new(shared, index, mailbox, admission, sockets, port) {
                    Ok(worker) => {
                        let _ = report.send(Ok(()));
                        worker.run();
                    }
                    Err(error) => {
                        let _ = report.send(Err(error));
                    }
                },
            )?;
        started
            .recv()
            .map_err(|_| io::Error::other("a worker failed to start"))??;
        Ok(thread)
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
        let threads = self.workers.into_iter().chain(self.repair);
        for worker in threads {
            if worker.join().is_err() {
                return Err(io::Error::other("a thread has failed"));
            }
        }
        Ok(())
    }
}
