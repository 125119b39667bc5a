//! Asking servers what they tell of themselves, as a client does.

use crate::failure::Failure;
use crate::options::Target;
use crate::report::Report;
use farcache_client::distribution::Server;
use farcache_client::{Client, ClientConfig, Credentials, TlsSettings, Transport};
use farcache_cluster::map::{Member, MemberState};
use farcache_cluster::{ClusterMap, ServerId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

/// How many servers are asked at one time.
const ASKED_AT_ONCE: usize = 64;

/// What servers told, or why they did not.
pub type Reports = BTreeMap<ServerId, Result<Report, String>>;

/// What a server told; none where it did not.
#[must_use]
pub fn report_of(reports: &Reports, server: ServerId) -> Option<&Report> {
    reports.get(&server)?.as_ref().ok()
}

/// How servers are asked.
pub struct Asking {
    config: ClientConfig,
}

impl Asking {
    /// As the command line says.
    ///
    /// # Errors
    /// The file with the password cannot be used.
    pub fn new(target: &Target) -> Result<Asking, Failure> {
        let credentials = target.user_file.as_deref().map(credentials).transpose()?;
        Ok(Asking {
            config: ClientConfig {
                transport: Transport::Tcp,
                tls: target.tls_ca.clone().map(|ca_file| TlsSettings {
                    ca_file,
                    identity: None,
                    server_name: None,
                }),
                credentials,
                connect_timeout: target.timeout(),
                connect_answer_timeout: Some(target.timeout()),
                timeout: target.timeout(),
                follows_map: false,
                ..ClientConfig::default()
            },
        })
    }

    /// Asks all servers of the map that take part, many at a time.
    #[must_use]
    pub fn all(&self, map: &ClusterMap) -> Reports {
        let servers = map.content().servers.iter();
        let servers: Vec<&Member> = servers
            .filter(|server| server.state != MemberState::Gone)
            .collect();
        let waiting = Mutex::new(servers.iter());
        let next = || waiting.lock().expect("no panic while held").next();
        let told = Mutex::new(Reports::new());
        thread::scope(|scope| {
            for _ in 0..servers.len().min(ASKED_AT_ONCE) {
                scope.spawn(|| {
                    while let Some(server) = next() {
                        let report = self.one(server);
                        let mut told = told.lock().expect("no panic while held");
                        told.insert(server.id, report);
                    }
                });
            }
        });
        told.into_inner().expect("no panic while held")
    }

    fn one(&self, server: &Member) -> Result<Report, String> {
        let config = ClientConfig {
            servers: vec![Server::at(server.addresses[0].clone())],
            ..self.config.clone()
        };
        let client = Client::new(&config).map_err(|error| error.to_string())?;
        let ask = |group| {
            client
                .statistics(0, group)
                .map_err(|error| error.to_string())
        };
        let (general, cluster, redundancy) = (ask("")?, ask("cluster")?, ask("redundancy")?);
        Ok(Report::read(&general, &cluster, &redundancy))
    }
}

fn credentials(path: &Path) -> Result<Credentials, Failure> {
    let unusable = |reason: &str| {
        let path = path.display();
        Failure::Broken(format!("cannot use the password in {path}: {reason}"))
    };
    let text = std::fs::read_to_string(path).map_err(|error| unusable(&error.to_string()))?;
    let line = text.lines().next().unwrap_or_default();
    let (user, password) = line
        .split_once(':')
        .ok_or_else(|| unusable("its first line is not user:password"))?;
    Ok(Credentials {
        user: user.to_owned(),
        password: password.to_owned(),
    })
}
