//! The server over everything that carries bytes: TCP, IPv6, unix sockets, TLS, UDP.

mod support;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use support::{Client, PATIENCE, Server, tcp, wait_for};

#[test]
fn tcp_carries_small_and_large_values() {
    Server::start(&[]).connect().exercise();
}

#[test]
fn every_family_is_served_by_default() {
    let server = Server::start_at(&["-p", "-1"], &[]);
    server.connect().exercise();
    let Ok(stream) = TcpStream::connect(("::1", server.port)) else {
        assert!(
            std::net::TcpListener::bind("[::1]:0").is_err(),
            "IPv6 works but is not served"
        );
        return;
    };
    let mut client = Client::over(stream);
    assert_eq!(client.get("small").as_deref(), Some(&b"value"[..]));
}

#[test]
fn several_addresses_are_served() {
    let server = Server::start_at(
        &["-p", "-1", "-l", "127.0.0.1,127.0.0.2", "-l", "127.0.0.3:0"],
        &[],
    );
    let third = server.port_logged("tcp:127.0.0.3");
    server.connect().set("key", b"value");
    let second = SocketAddr::from(([127, 0, 0, 2], server.port_logged("tcp:127.0.0.2")));
    let third = SocketAddr::from(([127, 0, 0, 3], third));
    for address in [second, third] {
        let value = Client::over(tcp(address)).get("key");
        assert_eq!(value.as_deref(), Some(&b"value"[..]), "{address}");
    }
}

#[test]
fn a_unix_socket_has_the_rights_asked_for_and_vanishes_in_the_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    // A socket that a dead server has left behind.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("made"));
    let text = path.to_str().expect("a plain name");
    let mut server = Server::start_at(&["-s", text, "-a", "760"], &[]);
    let mode = std::fs::metadata(&path)
        .expect("exists")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o760);
    Client::over(UnixStream::connect(&path).expect("accepted")).exercise();
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    assert!(!path.exists());
}

/// Sends one datagram and puts the answer's datagrams together.
fn ask_udp(socket: &UdpSocket, number: u16, request: &[u8]) -> Vec<u8> {
    let mut datagram = number.to_be_bytes().to_vec();
    datagram.extend_from_slice(&[0, 0, 0, 1, 0, 0]);
    datagram.extend_from_slice(request);
    socket.send(&datagram).expect("sent");
    let mut parts: Vec<Option<Vec<u8>>> = vec![None];
    while parts.iter().any(Option::is_none) {
        let mut buffer = [0; 2000];
        let count = socket.recv(&mut buffer).expect("an answer");
        let field = |at: usize| u16::from_be_bytes([buffer[at], buffer[at + 1]]);
        assert_eq!((field(0), field(6)), (number, 0));
        assert!(count <= 1400);
        parts.resize(usize::from(field(4)), None);
        parts[usize::from(field(2))] = Some(buffer[8..count].to_vec());
    }
    parts.into_iter().flatten().flatten().collect()
}

#[test]
fn udp_answers_in_as_many_datagrams_as_it_takes() {
    let server = Server::start(&["-p", "-1", "-U", "-1"]);
    let value = vec![b'v'; 5000];
    server.connect().set("key", &value);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("settable");
    socket
        .connect(("127.0.0.1", server.port_logged("udp:")))
        .expect("an address");
    assert_eq!(ask_udp(&socket, 7, b"get absent\r\n"), b"END\r\n");
    let expected = [b"VALUE key 0 5000\r\n", &value[..], b"\r\nEND\r\n"].concat();
    assert_eq!(ask_udp(&socket, 0xabcd, b"get key\r\n"), expected);
    assert_eq!(
        ask_udp(&socket, 8, b"set other 0 0 1\r\nx\r\n"),
        b"STORED\r\n"
    );
    let listing = ask_udp(&socket, 9, b"lru_crawler mgdump all\r\n");
    assert!(listing.ends_with(b"EN\r\n") && listing.len() == b"mg key\r\nmg other\r\nEN\r\n".len());
    // Too short for a header, or for a request: not answered, and harmless.
    socket.send(b"junk").expect("sent");
    assert_eq!(
        ask_udp(&socket, 9, b"get other\r\n"),
        b"VALUE other 0 1\r\nx\r\nEND\r\n"
    );
    let several = [0, 1, 0, 0, 0, 2, 0, 0];
    socket.send(&several).expect("sent");
    let mut buffer = [0; 2000];
    let count = socket.recv(&mut buffer).expect("an answer");
    assert!(buffer[8..count].starts_with(b"SERVER_ERROR multi-packet"));
}

#[test]
fn udp_gives_no_more_than_a_value_for_a_datagram() {
    let server = Server::start(&["-p", "-1", "-U", "-1"]);
    let mut client = server.connect();
    client.set("large", &vec![b'v'; 500_000]);
    for number in 0..10_000 {
        client.send(format!("set {number:08} 0 0 1 noreply\r\nx\r\n").as_bytes());
    }
    assert!(client.ask("version").is_some());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("settable");
    socket
        .connect(("127.0.0.1", server.port_logged("udp:")))
        .expect("an address");
    let three = b"get large large large\r\n".to_vec();
    let many = [b"get", &b" large".repeat(100)[..], b"\r\n"].concat();
    let dump = b"lru_crawler metadump all\r\n".to_vec();
    for request in [three, many, dump] {
        let answer = ask_udp(&socket, 1, &request);
        assert_eq!(answer, b"SERVER_ERROR reply too large for UDP\r\n");
    }
    assert_eq!(ask_udp(&socket, 2, b"mn\r\n"), b"MN\r\n");
}

/// Writes a new certificate for `localhost` to `directory` and returns it.
fn write_certificate(directory: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    std::fs::write(directory.join("key.pem"), signing_key.serialize_pem()).expect("written");
    std::fs::write(directory.join("cert.pem"), cert.pem()).expect("written");
    cert.der().clone()
}

fn connect_tls(
    server: &Server,
    certificate: &CertificateDer<'static>,
) -> Option<Client<StreamOwned<ClientConnection, TcpStream>>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let mut connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let mut stream = tcp(server.address());
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).ok()?;
    }
    Some(Client::over(StreamOwned::new(connection, stream)))
}

fn tls_options(directory: &Path, more: &str) -> String {
    let path = |name| directory.join(name).display().to_string();
    format!(
        "ssl_chain_cert={},ssl_key={}{more}",
        path("cert.pem"),
        path("key.pem")
    )
}

#[test]
fn tls_carries_small_and_large_values() {
    let directory = tempfile::tempdir().expect("a directory");
    let certificate = write_certificate(directory.path());
    let server = Server::start(&["-Z", "-o", &tls_options(directory.path(), "")]);
    let mut client = connect_tls(&server, &certificate).expect("trusted");
    client.exercise();
    // Many pipelined requests whose replies exceed every buffer on the way.
    client.send(&b"get large\r\n".repeat(20));
    for _ in 0..20 {
        assert_eq!(client.line().as_deref(), Some("VALUE large 0 900000"));
        let mut value = vec![0; 900_002];
        std::io::Read::read_exact(&mut client.stream, &mut value).expect("a value");
        assert_eq!(client.line().as_deref(), Some("END"));
    }
    // A client that does not speak TLS is cut off and harms nobody.
    let mut plain = server.connect();
    plain.send(b"version\r\n");
    while plain.line().is_some() {}
    assert_eq!(client.get("small").as_deref(), Some(&b"value"[..]));
}

#[test]
fn certificates_are_read_anew_on_demand() {
    let directory = tempfile::tempdir().expect("a directory");
    let old = write_certificate(directory.path());
    let server = Server::start(&["-Z", "-o", &tls_options(directory.path(), "")]);
    let mut before = connect_tls(&server, &old).expect("trusted");
    let new = write_certificate(directory.path());
    assert!(connect_tls(&server, &new).is_none(), "not read yet");
    server.signal(Signal::HUP);
    let mut after = wait_for("the new certificate", || connect_tls(&server, &new));
    after.exercise();
    assert!(after.stat("time_since_server_cert_refresh") < PATIENCE.as_secs());
    let newest = write_certificate(directory.path());
    assert_eq!(after.ask("refresh_certs").as_deref(), Some("OK"));
    assert!(connect_tls(&server, &newest).is_some());
    std::fs::remove_file(directory.path().join("cert.pem")).expect("removed");
    let refusal = "SERVER_ERROR cannot read the certificates";
    assert_eq!(after.ask("refresh_certs").as_deref(), Some(refusal));
    assert!(connect_tls(&server, &newest).is_some(), "still in use");
    assert_eq!(
        before.get("small").as_deref(),
        Some(&b"value"[..]),
        "old connections go on"
    );
}

#[test]
fn a_client_without_a_certificate_is_refused_where_one_is_required() {
    let directory = tempfile::tempdir().expect("a directory");
    let certificate = write_certificate(directory.path());
    let ca = format!(
        ",ssl_verify_mode=2,ssl_ca_cert={}",
        directory.path().join("cert.pem").display()
    );
    let server = Server::start(&["-Z", "-o", &tls_options(directory.path(), &ca)]);
    // In TLS 1.3 the refusal arrives after the client's side of the handshake.
    if let Some(mut client) = connect_tls(&server, &certificate) {
        use std::io::{Read, Write};
        let _ = client.stream.get_mut().write_all(b"version\r\n");
        let mut answer = [0; 10];
        assert!(client.stream.get_mut().read(&mut answer).is_err());
    }
}

#[test]
fn failures_of_tls_are_told_with_their_peers() {
    let directory = tempfile::tempdir().expect("a directory");
    write_certificate(directory.path());
    let tls = ["-Z", "-o", &tls_options(directory.path(), "")];
    let server = Server::start_quiet(&[&tls[..], &["--fabric", "off"]].concat());
    let mut plain = server.connect();
    plain.send(b"version without TLS\r\n");
    let peer = plain.stream.get_ref().local_addr().expect("an address");
    wait_for("the failure", || {
        let log = server.log();
        let line = log.lines().find(|line| line.contains("TLS failed"))?;
        assert!(line.contains(&format!("peer=tcp:{peer}")), "{line}");
        Some(())
    });
}

/// What the fabric carries is not encrypted: where there is TLS, it is for those only whom the
/// operator lets.
#[test]
fn with_tls_there_is_no_fabric_unless_it_is_allowed() {
    let directory = tempfile::tempdir().expect("a directory");
    let certificate = write_certificate(directory.path());
    let tls = ["-Z", "-o", &tls_options(directory.path(), "")];
    let listen = ["-l", "127.0.0.1:0", "-l", "notls:127.0.0.2:0"];
    for (more, is_allowed) in [(&[][..], false), (&["--fabric-with-tls"], true)] {
        let server = Server::start_at(&["-t", "1"], &[&listen[..], &tls, more].concat());
        let mut encrypted = connect_tls(&server, &certificate).expect("trusted");
        let answer = encrypted.ask("fabric 1 ucx").expect("an answer");
        // Where there is no UCX, there is no fabric in any case.
        let has_fabric = server.log().contains("fabric=\"UCX");
        assert_eq!(
            answer.starts_with("FABRIC "),
            is_allowed && has_fabric,
            "{answer}"
        );
        let plain = server.port_logged("tcp:127.0.0.2");
        let mut plain = Client::over(tcp(([127, 0, 0, 2], plain).into()));
        assert_eq!(plain.ask("fabric 1 ucx").as_deref(), Some("ERROR"));
        plain.exercise();
    }
}
