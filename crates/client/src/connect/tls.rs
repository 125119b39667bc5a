//! Encryption: certificates and names.

use crate::{Error, TlsSettings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// What all encrypted connections of a client share.
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    server_name: Option<String>,
}

impl Tls {
    /// Reads the certificates.
    pub(super) fn new(settings: &TlsSettings) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&settings.ca_file)? {
            roots
                .add(certificate)
                .map_err(|error| unusable(&settings.ca_file, &error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Configuration(error.to_string().into()))?
            .with_root_certificates(roots);
        let config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let private = PrivateKeyDer::from_pem_file(key).map_err(|e| unusable(key, &e))?;
                builder
                    .with_client_auth_cert(certificates(chain)?, private)
                    .map_err(|error| unusable(chain, &error))?
            }
        };
        Ok(Tls {
            config: Arc::new(config),
            server_name: settings.server_name.clone(),
        })
    }

    /// The client's side of a connection to this host.
    pub(super) fn connection(&self, host: &str) -> Result<ClientConnection, Error> {
        let name = self.server_name.as_deref().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name)
            .map_err(|error| Error::Configuration(format!("TLS: {error}").into()))?;
        ClientConnection::new(Arc::clone(&self.config), name)
            .map_err(|error| Error::Connect(error.to_string().as_str().into()))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(file, &error))
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Configuration(format!("cannot use {}: {error}", file.display()).into())
}
