//! Settings of a client, by name.

use crate::arguments::{reference_mut, text};
use crate::status::{Failure, Status, status_of};
use farcache_client::{ClientConfig, Credentials, TlsSettings};
use std::ffi::c_char;
use std::path::PathBuf;
use std::time::Duration;

/// The variable with settings that go before the program's: "timeout-ms=500 transport=tcp".
const VARIABLE: &str = "FARCACHE_OPTIONS";

/// Settings for clients to be.
#[derive(Clone, Default)]
pub struct Options {
    pub(crate) config: ClientConfig,
    /// The redundancy of blobs, as text: how many servers there are is not known yet.
    blob_redundancy: Option<String>,
    user: Option<String>,
    password: Option<String>,
    ca_file: Option<PathBuf>,
    certificate_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    server_name: Option<String>,
}

impl Options {
    /// Sets one by its name.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let config = &mut self.config;
        match name {
            "transport" => {
                config.transport = value.parse().map_err(|error| Failure::from(&error))?;
            }
            "timeout-ms" => config.timeout = milliseconds(name, value)?,
            "connect-timeout-ms" => config.connect_timeout = milliseconds(name, value)?,
            "progress-thread" => config.progress_thread = is_first(name, value, ["on", "off"])?,
            "spin-us" => config.spin = Duration::from_micros(number(name, value)?),
            "eager-bytes-max" => config.eager_bytes_max = number(name, value)?,
            "remove-after-failures" => config.remove_after_failures = Some(number(name, value)?),
            "removed-for-ms" => config.removed_for = milliseconds(name, value)?,
            "cluster" => config.follows_map = is_first(name, value, ["map", "list"])?,
            "redundancy" => {
                let policy = farcache_client::parse_redundancy(value);
                config.redundancy = Some(policy.map_err(|error| Failure::from(&error))?);
            }
            "blob-redundancy" => {
                let read = farcache_blobs::policy(value, 0);
                read.map_err(|error| Failure::from(&error))?;
                self.blob_redundancy = Some(value.into());
            }
            "user" => self.user = Some(value.into()),
            "password" => self.password = Some(value.into()),
            "tls-ca-file" => self.ca_file = Some(value.into()),
            "tls-certificate-file" => self.certificate_file = Some(value.into()),
            "tls-key-file" => self.key_file = Some(value.into()),
            "tls-server-name" => self.server_name = Some(value.into()),
            _ => {
                let message = format!("there is no option {name:?}");
                return Err(Failure::arguments(&message));
            }
        }
        Ok(())
    }

    /// The options after a look at the environment.
    pub fn with_environment(&self) -> Result<Options, Failure> {
        let mut options = self.clone();
        let text = std::env::var(VARIABLE).unwrap_or_default();
        for word in text.split_whitespace() {
            let wrong = || Failure::arguments(&format!("{VARIABLE}: {word:?} is not name=value"));
            let (name, value) = word.split_once('=').ok_or_else(wrong)?;
            options.set(name, value)?;
        }
        Ok(options)
    }

    /// The settings of a client of these servers.
    pub fn config(&self, servers: &str) -> Result<ClientConfig, Failure> {
        let mut config = self.config.clone();
        let read = farcache_client::parse_servers(servers);
        config.servers = read.map_err(|error| Failure::from(&error))?;
        if let Some(redundancy) = &self.blob_redundancy {
            if config.redundancy.is_some() {
                let why = "of redundancy and blob-redundancy there can be one: the former may have \
                           rules for blob: and chunk:";
                return Err(Failure::new(Status::Configuration, why));
            }
            let policy = farcache_blobs::policy(redundancy, config.servers.len());
            config.redundancy = Some(policy.map_err(|error| Failure::from(&error))?);
            // How many copies there are of manifests is decided by the list.
            config.follows_map = false;
        }
        let half = |what: &str| Failure::new(Status::Configuration, what);
        config.credentials = match (&self.user, &self.password) {
            (None, None) => None,
            (Some(user), Some(password)) => Some(Credentials {
                user: user.clone(),
                password: password.clone(),
            }),
            _ => return Err(half("user and password belong together")),
        };
        let identity = match (&self.certificate_file, &self.key_file) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            _ => {
                return Err(half(
                    "tls-certificate-file and tls-key-file belong together",
                ));
            }
        };
        config.tls = match &self.ca_file {
            Some(ca_file) => Some(TlsSettings {
                ca_file: ca_file.clone(),
                identity,
                server_name: self.server_name.clone(),
            }),
            None if identity.is_some() || self.server_name.is_some() => {
                return Err(half("encryption needs tls-ca-file"));
            }
            None => None,
        };
        Ok(config)
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Failure> {
    let refused = |_| Failure::arguments(&format!("{name} is a number, not {value:?}"));
    value.parse().map_err(refused)
}

fn milliseconds(name: &str, value: &str) -> Result<Duration, Failure> {
    number(name, value).map(Duration::from_millis)
}

/// Whether a value is the first of the two words that it may be.
fn is_first(name: &str, value: &str, [yes, no]: [&str; 2]) -> Result<bool, Failure> {
    let refused = || Failure::arguments(&format!("{name} is {yes} or {no}, not {value:?}"));
    match value == yes || value == no {
        true => Ok(value == yes),
        false => Err(refused()),
    }
}

/// Options with their defaults; to be freed with farcache_options_free.
#[unsafe(no_mangle)]
pub extern "C" fn farcache_options_new() -> *mut Options {
    Box::into_raw(Box::default())
}

/// Sets an option by its name: transport (auto, fabric, tcp), timeout-ms, connect-timeout-ms,
/// progress-thread (on, off), spin-us, eager-bytes-max, remove-after-failures, removed-for-ms,
/// cluster (map, list), redundancy (replicate:3, ec:3,2, ...), blob-redundancy (the same for blobs
/// alone), user, password, tls-ca-file, tls-certificate-file, tls-key-file, tls-server-name.
/// FARCACHE_OPTIONS="name=value ..." in the environment goes first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_options_set(
    options: *mut Options,
    name: *const c_char,
    value: *const c_char,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference_mut(options)?, text(name)?, text(value)?)) };
    let set = arguments().and_then(|(options, name, value)| options.set(name, value));
    status_of(set.map(|()| Status::Ok))
}

/// Frees options; clients made with them keep what they said. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_options_free(options: *mut Options) {
    if !options.is_null() {
        // SAFETY: C's contract; made by `farcache_options_new`.
        drop(unsafe { Box::from_raw(options) });
    }
}
