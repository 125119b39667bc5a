//! Owners that are not there, do not answer, or see the cluster otherwise.

use crate::fleet::{Fleet, hello};
use crate::support::{Client, PATIENCE, Server, command, wait_for};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

const UNREACHABLE: &str = "SERVER_ERROR the server that owns this key cannot be reached";
const LATE: &str = "SERVER_ERROR the server that owns this key has not answered in time";
const OTHER_MAP: &str = "SERVER_ERROR the servers' maps of the cluster differ on this key";

fn ask(client: &mut Client<UnixStream>, request: &str) -> String {
    client.ask(request).expect("an answer")
}

#[test]
fn a_dead_owner_is_told_of_and_found_again() {
    let mut fleet = Fleet::start(2, &[]);
    let mut client = fleet.connect(1);
    let (own, foreign) = (fleet.key_of(1, 0), fleet.key_of(2, 0));
    client.set(&foreign, b"1");
    client.set(&own, b"1");
    fleet.servers[1].signal(Signal::KILL);
    fleet.servers[1].wait();
    for request in [
        format!("get {foreign}"),
        format!("mg {foreign} v"),
        format!("incr {foreign} 1"),
        format!("set {foreign} 0 0 1\r\nx"),
    ] {
        assert_eq!(ask(&mut client, &request), UNREACHABLE, "{request}");
    }
    // The keys before are answered, those behind are not, and the next command is.
    client.send(format!("get {own} {foreign} {own}\r\nmn\r\n").as_bytes());
    let lines: Vec<String> = (0..4).map(|_| client.line().expect("a line")).collect();
    assert_eq!(lines, [&format!("VALUE {own} 0 1"), "1", UNREACHABLE, "MN"]);
    client.send(format!("set {foreign} 0 0 1 noreply\r\nx\r\n").as_bytes());
    assert_eq!(client.get(&own).as_deref(), Some(&b"1"[..]));
    assert!(client.stat("forward_errors") >= 6);
    let server = fleet.start_one(2);
    fleet.servers[1] = server;
    wait_for("the owner that is back", || {
        (ask(&mut client, &format!("incr {foreign} 1")) == "NOT_FOUND").then_some(())
    });
    client.set(&foreign, b"2");
    assert_eq!(fleet.connect(2).get(&foreign).as_deref(), Some(&b"2"[..]));
    let log = fleet.servers[0].log();
    assert!(log.contains("a peer cannot be reached peer=2"), "{log}");
}

#[test]
fn an_owner_that_does_not_answer_holds_up_nobody_else() {
    let fleet = Fleet::start(2, &["--forward-timeout-ms", "500"]);
    let (mut waiting, mut other) = (fleet.connect(1), fleet.connect(1));
    let (own, foreign) = (fleet.key_of(1, 0), fleet.key_of(2, 0));
    // On a busy machine the answer may be late before that.
    wait_for("an answer in time", || {
        (ask(&mut waiting, &format!("set {foreign} 0 0 1\r\n1")) == "STORED").then_some(())
    });
    fleet.servers[1].stop();
    waiting.send(format!("get {foreign}\r\nget {own}\r\n").as_bytes());
    other.set(&own, b"1");
    assert_eq!(other.get(&own).as_deref(), Some(&b"1"[..]));
    assert_eq!(waiting.line().as_deref(), Some(LATE));
    assert_eq!(
        waiting.line().as_deref(),
        Some(format!("VALUE {own} 0 1").as_str())
    );
    assert_eq!(waiting.line().as_deref(), Some("1"));
    assert_eq!(waiting.line().as_deref(), Some("END"));
    // It accepts connections still, and says nothing on them.
    let answer = ask(&mut waiting, &format!("mg {foreign} v"));
    assert!([LATE, UNREACHABLE].contains(&answer.as_str()), "{answer}");
    fleet.servers[1].signal(Signal::CONT);
    wait_for("the owner that goes on", || {
        (ask(&mut waiting, &format!("mg {foreign}")) == "HD").then_some(())
    });
}

#[test]
fn a_client_that_goes_while_its_request_is_away_harms_nobody() {
    let mut fleet = Fleet::start(2, &[]);
    let (own, foreign) = (fleet.key_of(1, 0), fleet.key_of(2, 0));
    fleet.connect(1).set(&foreign, b"1");
    fleet.servers[1].stop();
    for _ in 0..20 {
        fleet
            .connect(1)
            .send(format!("get {foreign}\r\n").as_bytes());
    }
    let mut client = fleet.connect(1);
    wait_for("the clients' ends", || {
        (client.stat("curr_connections") == 1).then_some(())
    });
    fleet.servers[1].signal(Signal::CONT);
    wait_for("the owner that goes on", || {
        (ask(&mut client, &format!("mg {foreign}")) == "HD").then_some(())
    });
    client.set(&own, b"1");
    fleet.servers[0].signal(Signal::TERM);
    assert!(
        fleet.servers[0].wait().success(),
        "{}",
        fleet.servers[0].log()
    );
}

#[test]
fn servers_whose_maps_differ_refuse_and_never_go_in_circles() {
    // A request that is refused is made again for as long.
    let fleet = Fleet::start(2, &["--forward-timeout-ms", "500"]);
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    let foreign = fleet.key_of(2, 0);
    // Each believes that the other one owns everything.
    fleet.publish_to(1, 2, &[2]);
    fleet.publish_to(2, 2, &[1]);
    for client in [&mut first, &mut second] {
        wait_for("the refusal", || {
            (ask(client, &format!("mg {foreign} v")) == OTHER_MAP).then_some(())
        });
    }
    assert_eq!(
        ask(&mut first, &format!("set {foreign} 0 0 1\r\nx")),
        OTHER_MAP
    );
    let value = "x".repeat(100_000);
    assert_eq!(
        ask(&mut first, &format!("set {foreign} 0 0 100000\r\n{value}")),
        OTHER_MAP
    );
    assert!(second.stat("forwards_refused") >= 3);
    let asked = first.stat("forwarded");
    assert_eq!(ask(&mut second, &format!("mg {foreign} v")), OTHER_MAP);
    assert_eq!(
        first.stat("forwarded"),
        asked,
        "what is forwarded is passed on to nobody"
    );
    fleet.publish(3, &[1, 2]);
    wait_for("agreement", || {
        (ask(&mut first, &format!("mg {foreign} v")) == "EN").then_some(())
    });
}

#[test]
fn a_new_map_counts_for_open_connections() {
    let fleet = Fleet::start(2, &[]);
    let mut first = fleet.connect(1);
    let key = fleet.key_of(2, 0);
    first.set(&key, b"1");
    fleet.publish(2, &[1]);
    wait_for("the new map", || {
        (ask(&mut first, &format!("mg {key}")) == "EN").then_some(())
    });
    first.set(&key, b"2");
    assert_eq!(first.stat("curr_items"), 1, "this server owns it now");
    let mut second = fleet.connect(2);
    wait_for("the new map", || {
        (second.get(&key).as_deref() == Some(b"2")).then_some(())
    });
}

/// Has server 2 stand still with a count that server 1 has passed on, until all keys are server 1's
/// by its own map, which has this epoch.
fn pass_on_and_take_over(fleet: &Fleet, key: &str, epoch: u64) -> Client<UnixStream> {
    let (mut client, mut other) = (fleet.connect(1), fleet.connect(1));
    fleet.servers[1].stop();
    let before = other.stat("forwarded");
    client.send(format!("incr {key} 1\r\n").as_bytes());
    wait_for("the request that is passed on", || {
        (other.stat("forwarded") > before).then_some(())
    });
    fleet.publish_to(1, epoch, &[1]);
    // Before that, a request for the key would wait for the other server, too.
    fleet.wait_for_epoch_of(&[1], epoch);
    assert_eq!(ask(&mut other, &format!("mg {key}")), "EN");
    client
}

#[test]
fn what_was_passed_on_is_decided_once_though_the_key_changes_hands() {
    let mut fleet = Fleet::start(2, &["--forward-timeout-ms", "60000"]);
    let key = fleet.key_of(2, 0);
    fleet.connect(1).set(&key, b"5");
    let mut client = pass_on_and_take_over(&fleet, &key, 2);
    fleet.servers[1].signal(Signal::CONT);
    assert_eq!(client.line().as_deref(), Some("6"), "as its owner has told");
    assert_eq!(ask(&mut client, &format!("mg {key}")), "EN");
    fleet.publish(3, &[1, 2]);
    fleet.wait_for_epoch_of(&[1, 2], 3);
    fleet.connect(1).set(&key, b"5");
    let mut client = pass_on_and_take_over(&fleet, &key, 4);
    fleet.servers[1].signal(Signal::KILL);
    fleet.servers[1].wait();
    let told = client.line();
    assert_eq!(told.as_deref(), Some(UNREACHABLE), "nobody knows whether");
}

#[test]
fn a_datagram_with_a_foreign_key_is_told_so() {
    let fleet = Fleet::start(2, &[]);
    let map = fleet.map_path(1);
    let options = ["-U", "-1", "--cluster-file", &map, "--cluster-self", "1"];
    let server = Server::start(&options);
    let port = server.port_logged("listening address=udp:");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("settable");
    socket.connect(("127.0.0.1", port)).expect("connectable");
    let ask = |key: &str| {
        let request = format!("get {key}\r\n");
        let datagram = [b"\0\x01\0\0\0\x01\0\0", request.as_bytes()].concat();
        socket.send(&datagram).expect("sent");
        let mut answer = [0; 1400];
        let bytes = socket.recv(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer[8..bytes]).into_owned()
    };
    assert_eq!(ask(&fleet.key_of(1, 0)), "END\r\n");
    let refusal = "SERVER_ERROR another server owns this key: ask over a stream socket\r\n";
    assert_eq!(ask(&fleet.key_of(2, 0)), refusal);
}

#[test]
fn where_clients_place_keys_nothing_is_forwarded() {
    let fleet = Fleet::start_placed("client", 2, &[]);
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    for number in 0..20 {
        first.set(&format!("key:{number}"), b"1");
    }
    assert_eq!(first.stat("curr_items"), 20);
    assert_eq!(first.stat("forwarded"), 0);
    assert_eq!(second.get("key:0"), None);
}

#[test]
fn a_server_that_the_map_does_not_have_does_not_start() {
    let fleet = Fleet::start(1, &[]);
    let refusal = |arguments: &[&str]| {
        let mut server = command(&["-p", "-1", "-l", "127.0.0.1", "-u", "root"]);
        let output = server.args(arguments).stderr(Stdio::piped()).output();
        let output = output.expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), message)
    };
    let map = fleet.map_path(1);
    let (status, message) = refusal(&["--cluster-file", &map, "--cluster-self", "7"]);
    assert_eq!(status, Some(71));
    assert!(
        message.contains("the cluster's map has no server 7"),
        "{message}"
    );
    let short = fleet.secret("short", "fifteen bytes..");
    let own = ["--cluster-file", &map, "--cluster-self", "1"];
    let (status, message) = refusal(&[&own[..], &["--cluster-secret-file", &short]].concat());
    assert_eq!(status, Some(71));
    assert!(message.contains("it has less than 16 bytes"), "{message}");
    let (status, _) = refusal(&["--cluster-self", "1"]);
    assert_eq!(status, Some(64), "there is no map");
}

#[test]
fn servers_with_one_secret_come_together_and_others_do_not() {
    let fleet = Fleet::start_with(3, &[], |fleet, id| {
        let text = [
            "the servers' secret\n",
            "the servers' secret",
            "another secret ..",
        ];
        let secret = fleet.secret(&format!("secret-{id}"), text[id as usize - 1]);
        vec!["--cluster-secret-file".to_owned(), secret]
    });
    let mut first = fleet.connect(1);
    first.set(&fleet.key_of(2, 0), b"1");
    assert_eq!(
        ask(&mut first, &format!("mg {}", fleet.key_of(3, 0))),
        UNREACHABLE
    );
    let log = fleet.servers[0].log();
    assert!(log.contains("it does not know the secret"), "{log}");
    let mut third = fleet.connect(3);
    assert_eq!(
        ask(&mut third, &format!("mg {}", fleet.key_of(1, 0))),
        UNREACHABLE
    );
}

#[test]
fn where_clients_authenticate_peers_need_the_secret() {
    let users = tempfile::tempdir().expect("a directory");
    let file = users.path().join("users");
    std::fs::write(&file, "anna:secret\n").expect("written");
    let file = file.to_str().expect("a plain path");
    let login = b"set x 0 0 11\r\nanna secret\r\n";
    let answer = |fleet: &Fleet| {
        let mut client = fleet.connect(1);
        client.send(login);
        assert_eq!(client.line().as_deref(), Some("STORED"));
        ask(&mut client, &format!("mg {}", fleet.key_of(2, 0)))
    };
    assert_eq!(answer(&Fleet::start(2, &["-Y", file])), UNREACHABLE);
    let with_secret = Fleet::start_with(2, &["-Y", file], |fleet, _| {
        let secret = fleet.secret("secret", "the servers' secret");
        vec!["--cluster-secret-file".to_owned(), secret]
    });
    assert_eq!(answer(&with_secret), "EN");
}

/// What a stranger is answered that says this, until the server hangs up.
fn told(fleet: &Fleet, said: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(fleet.socket(1)).expect("the server accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("settable");
    stream.write_all(said).expect("the server reads");
    let mut told = Vec::new();
    stream.read_to_end(&mut told).expect("the server hangs up");
    told
}

#[test]
fn strangers_get_nowhere_with_the_peers_protocol() {
    use farcache_peers::greeting::{CHALLENGE_BYTES, Hello, Verdict};
    let fleet = Fleet::start_with(1, &[], |fleet, _| {
        let secret = fleet.secret("secret", "the servers' secret");
        vec!["--cluster-secret-file".to_owned(), secret]
    });
    let hello = hello(1);
    let guess = [
        &hello.encode()[..],
        &[7; 32],
        b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04",
    ]
    .concat();
    let answer = told(&fleet, &guess);
    assert_eq!(answer[2], Verdict::Prove as u8);
    assert_eq!(
        answer[CHALLENGE_BYTES..],
        [0xfc, 1, Verdict::WrongProof as u8, 0]
    );
    for (other, verdict) in [
        (
            Hello {
                to: 9,
                ..hello.clone()
            },
            Verdict::OtherServer,
        ),
        (
            Hello {
                cluster: "others".into(),
                ..hello.clone()
            },
            Verdict::OtherCluster,
        ),
    ] {
        let answer = told(&fleet, &other.encode());
        assert_eq!((answer.len(), answer[2]), (CHALLENGE_BYTES, verdict as u8));
    }
    assert_eq!(
        told(&fleet, &[0xfc; 120]).get(2),
        Some(&(Verdict::OtherVersion as u8))
    );
    // Frames are for peers that were let in: to others they are no command.
    let frame = b"\x09\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\0\x01\x01\r\nquit\r\n";
    assert_eq!(told(&fleet, frame), b"ERROR\r\n");
    let mut client = fleet.connect(1);
    assert!(client.stat("auth_errors") >= 4);
}
