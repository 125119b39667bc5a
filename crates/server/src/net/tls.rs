//! TLS: certificates, which can be read anew while the server runs, and encrypted connections.

use crate::panics;
use crate::settings::{ClientCertificates, TlsSettings};
use rustix::net::{RecvFlags, SendFlags};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Instant;

/// Sessions kept for resumption (`-o ssl_session_cache`).
const SESSIONS_KEPT: usize = 1024;

/// Encrypted bytes that one connection may hold back before it takes no more replies.
const UNSENT_BYTES_MAX: usize = 64 << 10;

/// The server's side of TLS.
pub struct Tls {
    settings: TlsSettings,
    loaded: RwLock<Loaded>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    at: Instant,
}

impl Tls {
    /// Reads certificates and key.
    ///
    /// # Errors
    /// One of them cannot be read or used; the message names it.
    pub fn new(settings: TlsSettings) -> io::Result<Self> {
        let loaded = RwLock::new(Loaded {
            config: load(&settings)?,
            at: Instant::now(),
        });
        Ok(Tls { settings, loaded })
    }

    /// Reads certificates and key anew; connections made from now on use them.
    ///
    /// # Errors
    /// As [`Tls::new`]; the old ones stay in use then.
    pub fn reload(&self) -> io::Result<()> {
        let config = panics::contain(|| load(&self.settings))
            .unwrap_or_else(|| Err(io::Error::other("reading the certificates has failed")))?;
        *self.loaded.write().expect("no panic while held") = Loaded {
            config,
            at: Instant::now(),
        };
        Ok(())
    }

    /// When the certificates were read.
    pub fn loaded_at(&self) -> Instant {
        self.loaded.read().expect("no panic while held").at
    }

    /// Encrypts a connection that has just been accepted.
    ///
    /// # Errors
    /// The configuration does not allow it.
    pub fn accept(&self, socket: OwnedFd) -> io::Result<TlsStream> {
        let config = Arc::clone(&self.loaded.read().expect("no panic while held").config);
        let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
        connection.set_buffer_limit(Some(UNSENT_BYTES_MAX));
        Ok(TlsStream {
            socket,
            connection,
            plaintext_waiting: false,
        })
    }
}

fn load(settings: &TlsSettings) -> io::Result<Arc<ServerConfig>> {
    let chain = certificates(&settings.chain_cert)?;
    let key_file = settings.key.as_deref().unwrap_or(&settings.chain_cert);
    let key = private_key(key_file)?;
    let versions: &[&SupportedProtocolVersion] = match settings.only_version_1_3 {
        true => &[&version::TLS13],
        false => &[&version::TLS12, &version::TLS13],
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(io::Error::other)?;
    let builder = match settings.verify {
        ClientCertificates::None => builder.with_no_client_auth(),
        verify => builder.with_client_cert_verifier(verifier(settings, verify, provider)?),
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|error| unusable(&settings.chain_cert, &error))?;
    if settings.session_cache {
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS_KEPT);
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(Arc::new(config))
}

/// Reads a key. Its form is told from its content, as OpenSSL does: files with PKCS#8 under the
/// label of PKCS#1 are about.
fn private_key(file: &Path) -> io::Result<PrivateKeyDer<'static>> {
    let labelled = PrivateKeyDer::from_pem_file(file).map_err(|error| unusable(file, &error))?;
    let content = labelled.secret_der().to_vec();
    PrivateKeyDer::try_from(content).map_err(|error| unusable(file, &error))
}

fn verifier(
    settings: &TlsSettings,
    verify: ClientCertificates,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> io::Result<Arc<dyn rustls::server::danger::ClientCertVerifier>> {
    let Some(file) = &settings.ca_cert else {
        return Err(io::Error::other(
            "-o ssl_verify_mode needs -o ssl_ca_cert=FILE",
        ));
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots
            .add(certificate)
            .map_err(|error| unusable(file, &error))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = match verify {
        ClientCertificates::Require => builder,
        _ => builder.allow_unauthenticated(),
    };
    builder.build().map_err(|error| unusable(file, &error))
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(file, &error))?;
    if certificates.is_empty() {
        return Err(unusable(file, &"it holds no certificate"));
    }
    Ok(certificates)
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("cannot use {}: {error}", file.display()))
}

/// An encrypted, non-blocking stream to one client.
pub struct TlsStream {
    socket: OwnedFd,
    connection: ServerConnection,
    /// More has been decrypted than the reader had room for.
    plaintext_waiting: bool,
}

impl TlsStream {
    /// As [`super::transport::Transport::read`].
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => {
                    self.plaintext_waiting = matches!(other, Ok(count) if count == buffer.len());
                    return other;
                }
            }
            self.plaintext_waiting = false;
            if self.connection.read_tls(&mut Socket(&self.socket))? == 0 {
                return Ok(0);
            }
            let processed = self.connection.process_new_packets();
            // Also tells the client what it did wrong.
            self.flush()?;
            processed.map_err(io::Error::other)?;
        }
    }

    /// As [`super::transport::Transport::write_slices`].
    pub(super) fn write_slices(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut taken = 0;
        loop {
            let count = write_rest(&mut self.connection, slices, taken)?;
            taken += count;
            self.flush()?;
            if count == 0 || self.has_unsent() {
                break;
            }
        }
        if taken == 0 {
            Err(io::ErrorKind::WouldBlock.into())
        } else {
            Ok(taken)
        }
    }

    /// Sends what has been encrypted, as far as the socket takes it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Socket(&self.socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether encrypted bytes wait for the socket to take them.
    pub(super) fn has_unsent(&self) -> bool {
        self.connection.wants_write()
    }

    /// Whether there is input that the socket will not report.
    pub(super) fn has_buffered_input(&self) -> bool {
        self.plaintext_waiting
    }

    /// Tells the client that no more will come.
    pub(super) fn say_goodbye(&mut self) {
        self.connection.send_close_notify();
        // The connection is over in any case.
        let _ = self.flush();
    }
}

/// What TLS itself says is wrong; none where the connection has failed below it.
pub fn failure(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|inner| inner.downcast_ref())
}

/// Encrypts as much as there is room for of `slices`, whose first `skip` bytes are done.
fn write_rest(
    connection: &mut ServerConnection,
    slices: &[IoSlice<'_>],
    mut skip: usize,
) -> io::Result<usize> {
    let mut taken = 0;
    for slice in slices {
        if skip >= slice.len() {
            skip -= slice.len();
            continue;
        }
        let rest = &slice[skip..];
        skip = 0;
        let count = connection.writer().write(rest)?;
        taken += count;
        if count < rest.len() {
            break;
        }
    }
    Ok(taken)
}

impl AsFd for TlsStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The encrypted side, as rustls wants it.
struct Socket<'a>(&'a OwnedFd);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(self.0, slices)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
