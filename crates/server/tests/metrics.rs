//! The Prometheus endpoint, and clients of it that are idle, slow, greedy or wrong.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;
use support::{Client, PATIENCE, Server, tcp, wait_for};

/// A server with the endpoint, whose port is returned too.
fn start(arguments: &[&str]) -> (Server, u16) {
    let server = Server::start(&[&["--metrics", "127.0.0.1:0"], arguments].concat());
    let port = server.port_logged("serving metrics");
    (server, port)
}

fn connect(port: u16) -> TcpStream {
    tcp(([127, 0, 0, 1], port).into())
}

/// All that the endpoint answers, until it hangs up.
fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // It may hang up on what it does not read.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn ask(port: u16, request: &str) -> String {
    let mut stream = connect(port);
    stream.write_all(request.as_bytes()).expect("sent");
    answer(stream)
}

fn scrape(port: u16) -> String {
    ask(port, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
}

fn assert_scrape_and_clients_work(server: &mut Server, port: u16) {
    wait_for("a page", || {
        let status = server.child.try_wait().expect("a child");
        assert!(status.is_none(), "{status:?}:\n{}", server.log());
        scrape(port).contains("farcache_items").then_some(())
    });
    server.connect().exercise();
}

#[test]
fn a_scrape_is_answered_while_all_connections_are_taken() {
    let limited =
        Server::start_limited(128, &["-t", "16", "-c", "300", "--metrics", "127.0.0.1:0"]);
    let mut server = limited;
    let port = server.port_logged("serving metrics");
    let mut clients: Vec<Client<TcpStream>> = (0..300).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert!(client.ask("version").is_some());
    }
    let pages: Vec<TcpStream> = (0..8).map(|_| connect(port)).collect();
    for mut stream in pages {
        stream
            .write_all(b"GET / HTTP/1.0\r\n\r\n")
            .expect("the endpoint reads");
        let page = answer(stream);
        assert!(page.contains("farcache_connections 300"), "{page}");
    }
    drop(clients);
    assert_scrape_and_clients_work(&mut server, port);
}

#[test]
fn idle_connections_cost_little_and_end() {
    let (mut server, port) = start(&["-c", "50"]);
    assert_scrape_and_clients_work(&mut server, port);
    let (threads, descriptors) = (server.threads(), server.descriptors());
    let idle: Vec<TcpStream> = (0..400).map(|_| connect(port)).collect();
    for mut stream in idle {
        let mut client = server.connect();
        assert!(client.ask("version").is_some());
        assert_eq!(server.threads(), threads);
        assert!(server.descriptors() < descriptors + 30);
        let mut byte = [0];
        // Closed, politely or not, and without a word.
        assert!(matches!(stream.read(&mut byte), Ok(0) | Err(_)));
    }
    assert_scrape_and_clients_work(&mut server, port);
}

#[test]
fn more_than_few_at_once_are_told_so() {
    let (mut server, port) = start(&[]);
    // Those that are held end after a while, which on a busy machine may be before the last one
    // comes.
    let answer = wait_for("a refusal", || {
        let _held: Vec<TcpStream> = (0..8).map(|_| connect(port)).collect();
        Some(scrape(port)).filter(|answer| answer.starts_with("HTTP/1.1 503"))
    });
    assert!(answer.to_lowercase().contains("retry-after"), "{answer}");
    assert_scrape_and_clients_work(&mut server, port);
}

#[test]
fn a_request_that_trickles_in_is_cut_off() {
    let (mut server, port) = start(&[]);
    let mut stream = connect(port);
    stream.set_nonblocking(true).expect("settable");
    let deadline = Instant::now() + PATIENCE;
    let mut request = b"GET / HTTP/1.1\r\n".to_vec();
    request.extend(std::iter::repeat_n(b'x', 4000));
    for byte in request.chunks(1).cycle() {
        assert!(Instant::now() < deadline, "the endpoint listens for ever");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut answer = [0; 100];
        let has_ended = match stream.read(&mut answer) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        };
        if has_ended || stream.write(byte).is_err() {
            break;
        }
    }
    assert_scrape_and_clients_work(&mut server, port);
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let (mut server, port) = start(&[]);
    let requests = "GET / HTTP/1.1\r\nHost: here\r\n\r\n".repeat(10_000);
    let mut stream = connect(port);
    stream.set_nonblocking(true).expect("settable");
    wait_for("its end", || match stream.write(requests.as_bytes()) {
        Ok(_) => None,
        Err(error) => (error.kind() != std::io::ErrorKind::WouldBlock).then_some(()),
    });
    assert_scrape_and_clients_work(&mut server, port);
}

#[test]
fn what_is_no_request_for_figures_is_refused() {
    let (mut server, port) = start(&[]);
    let long = "x".repeat(100 << 10);
    for (request, status) in [
        ("GET /elsewhere HTTP/1.1\r\nHost: here\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nHost: here\r\n\r\n", "405"),
        ("DELETE / HTTP/1.1\r\nHost: here\r\n\r\n", "405"),
        ("set key 0 0 1\r\nx\r\n", "400"),
        ("\0\0\0\0\r\n\r\n", "400"),
    ] {
        let answer = ask(port, request);
        assert!(
            answer.contains(&format!(" {status} ")),
            "{request}: {answer}"
        );
    }
    let head = ask(port, "HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    assert!(
        head.contains(" 200 ") && !head.contains("farcache_items"),
        "{head}"
    );
    for request in [
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5000)),
    ] {
        let mut stream = connect(port);
        // It may hang up before it has been sent all.
        let _ = stream.write_all(request.as_bytes());
        assert!(!answer(stream).contains(" 200 "), "{}", &request[..20]);
    }
    let body = format!(
        "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
        u64::MAX / 2
    );
    let mut stream = connect(port);
    stream.write_all(body.as_bytes()).expect("sent");
    // Nobody reads it.
    while stream.write_all(&[b'x'; 65536]).is_ok() {}
    assert_scrape_and_clients_work(&mut server, port);
}

/// The page without HTTP, as this kind of client gets it.
fn page(port: u16, accept: &str) -> (String, String) {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: here\r\nAccept: {accept}\r\n\r\n");
    let answer = ask(port, &request);
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_lowercase(), body.to_owned())
}

#[test]
fn open_metrics_are_for_those_who_ask_for_them() {
    let (_server, port) = start(&["--fabric", "off"]);
    let (head, body) = page(port, "application/openmetrics-text;version=1.0.0,*/*;q=0.1");
    assert!(head.contains("content-type: application/openmetrics-text"));
    assert!(body.ends_with("# EOF\n") && body.contains("# TYPE farcache_cmd_get counter"));
    let (head, body) = page(port, "*/*");
    assert!(head.contains("content-type: text/plain; version=0.0.4"));
    assert!(!body.contains("# EOF") && body.contains("# TYPE farcache_cmd_get_total counter"));
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    use std::process::{Command, Stdio};
    let ssd = tempfile::tempdir().expect("a directory");
    let device = format!("{}:64m", ssd.path().join("ssd").display());
    let (_server, port) = start(&["--ssd", &device, "--fabric", "auto"]);
    let (_, body) = page(port, "*/*");
    assert!(body.contains("farcache_tier_written_bytes_total"), "{body}");
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!("without promtool: `scripts/install-deps.sh test` installs it");
        return;
    };
    let mut input = promtool.stdin.take().expect("piped");
    input.write_all(body.as_bytes()).expect("read");
    drop(input);
    let said = promtool.wait_with_output().expect("it ends");
    let complaints = [said.stdout, said.stderr].concat();
    let complaints = String::from_utf8_lossy(&complaints);
    assert!(
        said.status.success() && complaints.is_empty(),
        "{complaints}"
    );
}
