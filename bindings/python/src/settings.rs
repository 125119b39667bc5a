//! A client's settings, from keyword arguments.

use farcache_client::{ClientConfig, Credentials, TlsSettings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::time::Duration;

/// Settings by their names. Those that are `None` keep their defaults.
pub fn config(servers: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<ClientConfig> {
    let wrong = |error: farcache_client::Error| PyValueError::new_err(error.to_string());
    let mut config = ClientConfig::new(servers).map_err(wrong)?;
    let mut secrets = Secrets::default();
    for (name, value) in settings.into_iter().flatten() {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        match &*name {
            "transport" => {
                config.transport = value.extract::<String>()?.parse().map_err(wrong)?;
            }
            "timeout" => config.timeout = seconds(&value)?,
            "connect_timeout" => config.connect_timeout = seconds(&value)?,
            "spin" => config.spin = seconds(&value)?,
            "progress_thread" => config.progress_thread = value.extract()?,
            "eager_bytes_max" => config.eager_bytes_max = value.extract()?,
            _ => secrets.set(&name, &value)?,
        }
    }
    (config.credentials, config.tls) = secrets.finish()?;
    Ok(config)
}

#[derive(Default)]
struct Secrets {
    user: Option<String>,
    password: Option<String>,
    ca_file: Option<PathBuf>,
    certificate_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    server_name: Option<String>,
}

impl Secrets {
    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "user" => self.user = value.extract()?,
            "password" => self.password = value.extract()?,
            "tls_ca_file" => self.ca_file = value.extract()?,
            "tls_certificate_file" => self.certificate_file = value.extract()?,
            "tls_key_file" => self.key_file = value.extract()?,
            "tls_server_name" => self.server_name = value.extract()?,
            _ => {
                let message = format!("there is no setting {name:?}");
                return Err(PyValueError::new_err(message));
            }
        }
        Ok(())
    }

    fn finish(self) -> PyResult<(Option<Credentials>, Option<TlsSettings>)> {
        let half = |what: &'static str| Err(PyValueError::new_err(what));
        let credentials = match (self.user, self.password) {
            (None, None) => None,
            (Some(user), Some(password)) => Some(Credentials { user, password }),
            _ => return half("user and password belong together"),
        };
        let identity = match (self.certificate_file, self.key_file) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate, key)),
            _ => return half("tls_certificate_file and tls_key_file belong together"),
        };
        let server_name = self.server_name;
        let tls = match self.ca_file {
            Some(ca_file) => Some(TlsSettings {
                ca_file,
                identity,
                server_name,
            }),
            None if identity.is_some() || server_name.is_some() => {
                return half("encryption needs tls_ca_file");
            }
            None => None,
        };
        Ok((credentials, tls))
    }
}

fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value.extract()?)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
