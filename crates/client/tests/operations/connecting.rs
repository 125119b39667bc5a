//! Being let in, encryption, several servers, servers that die and come back.

use crate::blocking::{config, exercise};
use crate::support::{BOTH, Product, Server, wait_for};
use farcache_client::distribution::Distribution;
use farcache_client::{
    Client, ClientConfig, ConnectStage, Credentials, Error, TlsSettings, Transport,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::time::{Duration, Instant};

/// Both ways to a server of ours.
const WAYS: [Transport; 2] = [Transport::Tcp, Transport::Fabric];

/// How soon the end of a server must be felt on the same host, however busy that is; operations
/// would wait longer.
const DEATH_FELT_WITHIN: Duration = Duration::from_secs(20);

fn client(server: &Server, transport: Transport) -> Client {
    Client::new(&config(&server.address(), transport)).expect("a client")
}

#[test]
fn the_end_of_a_server_is_felt_at_once() {
    for transport in WAYS {
        let mut server = Server::start(Product::Farcached, &[]);
        let client = client(&server, transport);
        client.set("large", vec![1; 1_000_000], 0).expect("stored");
        // It does not answer any more, and has not ended either.
        stop(&server);
        let small = client.submit(get(b"small"));
        let large = client.submit(get(b"large"));
        let set = farcache_client::Store::set(b"large", vec![2; 1_000_000]);
        let set = client.submit(farcache_client::Operation::Store(set));
        client.flush();
        assert!(!client.test(&small) && !client.test(&large) && !client.test(&set));
        let killed = Instant::now();
        server.kill();
        for request in [small, large, set] {
            let error = client.wait(request).expect_err("its server is gone");
            assert!(
                matches!(error, Error::ConnectionLost(_)),
                "{transport:?}: {error}"
            );
        }
        assert!(killed.elapsed() < DEATH_FELT_WITHIN);
        let error = client.get("small").expect_err("nobody listens");
        assert!(error.is_connection(), "{error}");
    }
}

fn get(key: &[u8]) -> farcache_client::Operation<'_> {
    let into = farcache_client::ReceiveBytes::default();
    farcache_client::Operation::Get { key, into }
}

/// Stops all of the server's threads: a signal alone is not felt at once by those that run.
fn stop(server: &Server) {
    let process = Pid::from_child(&server.child);
    kill_process(process, Signal::STOP).expect("the server runs");
    let stopped = waitpid(Some(process), WaitOptions::UNTRACED).expect("a child");
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
}

#[test]
fn a_server_that_comes_back_is_used_again() {
    for transport in WAYS {
        let mut server = Server::start(Product::Farcached, &[]);
        let client = client(&server, transport);
        client.set("key", "value", 0).expect("stored");
        let port = server.port;
        server.kill();
        let _server = Server::start_at(Product::Farcached, port, &[]);
        let item = wait_for("the server's return", || client.get("key").ok());
        assert_eq!(item, None, "a new server is empty");
        client.set("key", "again", 0).expect("stored");
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let mut server = Server::start(Product::Farcached, &[]);
    server.kill();
    let client = client(&server, Transport::Auto);
    assert!(matches!(client.get("key"), Err(Error::Connect(_))));
    // It is left alone for a while, longer with every attempt: on a busy machine the first while
    // may be over.
    wait_for("the server's rest", || {
        match client.get("key").expect_err("nobody is there") {
            Error::ServerDead => Some(()),
            error => {
                assert!(matches!(error, Error::Connect(_)), "{error}");
                None
            }
        }
    });
}

#[test]
fn a_server_that_says_nothing_runs_into_the_time_limit() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address").to_string();
    for transport in [Transport::Tcp, Transport::Fabric] {
        let mut config = config(&address, transport);
        config.connect_timeout = Duration::from_millis(100);
        let client = Client::new(&config).expect("a client");
        let Err(Error::Connect(why)) = client.get("key") else {
            panic!("the server has answered");
        };
        assert_eq!(why.stage, ConnectStage::Silent, "{why}");
    }
}

/// Answers each line: nothing but meta commands is known, and nothing is stored.
fn know_meta_commands_only(stream: std::net::TcpStream) {
    use std::io::{BufRead, BufReader, Write};
    let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
    let (mut stream, mut line) = (stream, Vec::new());
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|bytes| bytes > 0)
    {
        let answer: &[u8] = match &line[..] {
            b"mn\r\n" => b"MN\r\n",
            line if line.starts_with(b"mg found ") => b"VA 5 f3 c9\r\nvalue\r\n",
            line if line.starts_with(b"mg ") => b"EN\r\n",
            line if line.starts_with(b"md ") => b"NF\r\n",
            _ => b"ERROR\r\n",
        };
        if stream.write_all(answer).is_err() {
            return;
        }
        line.clear();
    }
}

#[test]
fn a_server_that_knows_meta_commands_only_is_found_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || know_meta_commands_only(stream));
        }
    });
    let client = Client::new(&config(&address, Transport::Auto)).expect("a client");
    let item = client.get("found").expect("an answer").expect("a value");
    assert_eq!(
        (&item.value[..], item.flags, item.cas),
        (&b"value"[..], 3, 9)
    );
    assert_eq!(client.get("absent"), Ok(None));
    assert_eq!(client.delete("absent"), Err(Error::NotFound));
    assert_eq!(client.versions(), [Err(Error::Unsupported)]);
}

#[test]
fn only_those_with_the_password_are_let_in() {
    let directory = tempfile::tempdir().expect("a directory");
    let passwords = directory.path().join("sasl.pw");
    std::fs::write(&passwords, "someone:secret\n").expect("written");
    let path = passwords.to_str().expect("a plain name");
    let variables = [("MEMCACHED_SASL_PWDB", path)];
    let server = Server::start_with(Product::Farcached, 0, &["-S"], &variables);
    for transport in WAYS {
        let mut config = config(&server.address(), transport);
        let refused = Client::new(&config).expect("a client").get("key");
        let is_refused = matches!(
            refused,
            Err(Error::AuthFailed(_) | Error::FabricUnavailable(_))
        );
        assert!(is_refused, "{refused:?}");
        for (password, is_right) in [("wrong", false), ("secret", true)] {
            config.credentials = Some(Credentials {
                user: "someone".into(),
                password: password.into(),
            });
            let answer = Client::new(&config).expect("a client").get("key");
            match is_right {
                true => assert_eq!(answer, Ok(None)),
                false => assert!(matches!(answer, Err(Error::AuthFailed(_))), "{answer:?}"),
            }
        }
    }
}

#[test]
fn credentials_for_a_server_without_users_are_an_error() {
    for product in BOTH {
        let server = Server::start(product, &[]);
        let mut config = config(&server.address(), Transport::Tcp);
        config.credentials = Some(Credentials {
            user: "someone".into(),
            password: "secret".into(),
        });
        let answer = Client::new(&config).expect("a client").get("key");
        assert!(matches!(answer, Err(Error::AuthFailed(_))), "{answer:?}");
    }
}

/// A server with a certificate for `localhost`, and settings to reach it.
fn encrypted() -> (Server, ClientConfig, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (chain, key) = (
        directory.path().join("cert.pem"),
        directory.path().join("key.pem"),
    );
    std::fs::write(&chain, cert.pem()).expect("written");
    std::fs::write(&key, signing_key.serialize_pem()).expect("written");
    let chain_option = format!("ssl_chain_cert={}", chain.display());
    let key_option = format!("ssl_key={}", key.display());
    let arguments = [
        "-Z",
        "--fabric-with-tls",
        "-o",
        &chain_option,
        "-o",
        &key_option,
    ];
    let server = Server::start(Product::Farcached, &arguments);
    let mut config = config(&server.address(), Transport::Auto);
    config.tls = Some(TlsSettings {
        ca_file: chain,
        identity: None,
        server_name: Some("localhost".into()),
    });
    (server, config, directory)
}

#[test]
fn connections_are_encrypted_on_demand() {
    let (server, mut config, _directory) = encrypted();
    for transport in WAYS {
        config.transport = transport;
        exercise(&Client::new(&config).expect("a client"));
    }
    config.transport = Transport::Tcp;
    let settings = config.tls.as_mut().expect("set");
    settings.server_name = Some("elsewhere.example".into());
    let refused = Client::new(&config).expect("a client").get("key");
    assert!(matches!(refused, Err(Error::Connect(_))), "{refused:?}");
    drop(server);
}

#[test]
fn several_servers_share_the_keys() {
    let servers = [
        Server::start(Product::Farcached, &[]),
        Server::start(Product::Memcached, &[]),
        Server::start(Product::Farcached, &["--fabric", "off"]),
    ];
    let addresses: Vec<_> = servers.iter().map(Server::address).collect();
    for distribution in [Distribution::Modula, Distribution::Ketama] {
        let mut config = config(&addresses.join(","), Transport::Auto);
        config.placement.distribution = distribution;
        let client = Client::new(&config).expect("a client");
        exercise_all(&client);
        assert!(client.lanes(0).is_some() && client.lanes(1).is_none());
    }
}

/// What [`exercise`] does, but for what is memcached's own.
fn exercise_all(client: &Client) {
    let keys: Vec<String> = (0..300).map(|number| format!("key-{number}")).collect();
    for key in &keys {
        client.set(key, key.as_str(), 0).expect("stored");
    }
    let got = client.get_many(&keys).expect("few keys");
    for (key, item) in keys.iter().zip(got.iter()) {
        let item = item.expect("an answer").expect("an item");
        assert_eq!(item.value, key.as_bytes());
    }
    for server in 0..3 {
        let statistics = client.statistics(server, "").expect("statistics");
        let items = statistics.iter().find(|(name, _)| name == "curr_items");
        let items: u32 = items.expect("counted").1.parse().expect("a number");
        assert!(items > 0, "server {server} has none");
    }
    client.flush_all(0).expect("flushed");
    assert_eq!(client.get_many(&keys).expect("few keys").found(), 0);
}
