//! What a client of the text protocol sees.

use crate::Fleet;
use crate::support::Client;
use std::os::unix::net::UnixStream;

#[test]
fn a_value_is_stored_and_read_through_any_server() {
    let fleet = Fleet::start(2, &[]);
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    let key = fleet.key_of(2, 0);
    first.set(&key, b"value");
    assert_eq!(second.get(&key).as_deref(), Some(&b"value"[..]));
    assert_eq!(first.get(&key).as_deref(), Some(&b"value"[..]));
    assert_eq!(first.get(&fleet.key_of(2, 1)), None);
    assert_eq!(first.stat("curr_items"), 0, "only the owner holds it");
    assert_eq!(second.stat("curr_items"), 1);
    assert_eq!(first.stat("forwarded"), 3);
    // The first server's look at what the others hold, soon after its start, is counted with them.
    assert!(second.stat("forwarded_here") >= 3);
    assert_eq!(second.stat("forwarded"), 0, "owners ask nobody");
}

/// The lines of the answer to a retrieval command.
fn lines(client: &mut Client<UnixStream>, request: &str) -> Vec<String> {
    client.send(format!("{request}\r\n").as_bytes());
    let mut lines = Vec::new();
    loop {
        let line = client.line().expect("an answer");
        let is_end = line == "END" || line.contains("ERROR");
        lines.push(line);
        if is_end {
            return lines;
        }
    }
}

#[test]
fn keys_of_several_owners_are_answered_in_their_order() {
    let fleet = Fleet::start(3, &[]);
    let mut client = fleet.connect(1);
    let keys: Vec<String> = (0..120)
        .map(|number| fleet.key_of(1 + number % 3, number as usize / 3))
        .collect();
    for (number, key) in keys.iter().enumerate() {
        if number % 5 != 4 {
            client.set(key, number.to_string().as_bytes());
        }
    }
    let expected = |keys: &[(usize, &String)]| {
        let found = keys.iter().filter(|(number, _)| number % 5 != 4);
        let found = found.flat_map(|(number, key)| {
            let value = number.to_string();
            [format!("VALUE {key} 0 {}", value.len()), value]
        });
        found.chain(["END".to_owned()]).collect::<Vec<String>>()
    };
    let numbered: Vec<(usize, &String)> = keys.iter().enumerate().collect();
    for chunk in [1, 2, 7, 33, 120] {
        for some in numbered.chunks(chunk) {
            let names: Vec<&str> = some.iter().map(|(_, key)| key.as_str()).collect();
            let names = names.join(" ");
            assert_eq!(lines(&mut client, &format!("get {names}")), expected(some));
            if chunk != 120 {
                assert_eq!(
                    lines(&mut client, &format!("gat 0 {names}")),
                    expected(some)
                );
            }
        }
    }
    // Longer than any line that is waited for whole.
    let names = keys.iter().cycle().take(1200).map(String::as_str);
    let names = names.collect::<Vec<_>>().join(" ");
    let twelve: Vec<(usize, &String)> = numbered.iter().copied().cycle().take(1200).collect();
    assert_eq!(
        lines(&mut client, &format!("get {names}")),
        expected(&twelve)
    );
    let with_tokens = lines(&mut client, &format!("gets {} {}", keys[0], keys[1]));
    assert_eq!(with_tokens[0].split(' ').count(), 5, "{with_tokens:?}");
    assert_eq!(with_tokens[2].split(' ').count(), 5, "{with_tokens:?}");
    assert_eq!(client.stat("forward_errors"), 0);
}

#[test]
fn a_token_from_one_server_counts_at_another() {
    let fleet = Fleet::start(2, &[]);
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    let key = fleet.key_of(2, 0);
    second.set(&key, b"old");
    let token = lines(&mut first, &format!("gets {key}"))[0]
        .rsplit(' ')
        .next()
        .map(str::to_owned)
        .expect("a token");
    let stores = |client: &mut Client<UnixStream>| {
        client.send(format!("cas {key} 0 0 3 {token}\r\nnew\r\n").as_bytes());
        client.line()
    };
    assert_eq!(stores(&mut first).as_deref(), Some("STORED"));
    assert_eq!(stores(&mut first).as_deref(), Some("EXISTS"));
    assert_eq!(stores(&mut second).as_deref(), Some("EXISTS"));
    assert_eq!(second.get(&key).as_deref(), Some(&b"new"[..]));
}

#[test]
fn large_values_are_forwarded_whole() {
    let fleet = Fleet::start(2, &["-I", "8m", "-m", "256"]);
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    for (number, bytes) in [16_384, 16_385, 70_000, 1 << 20, 7 << 20]
        .into_iter()
        .enumerate()
    {
        let key = fleet.key_of(2, number);
        let value: Vec<u8> = (0..bytes).map(|byte: u32| (byte % 251) as u8).collect();
        first.set(&key, &value);
        assert_eq!(
            second.get(&key).as_ref(),
            Some(&value),
            "{bytes} bytes stored"
        );
        assert_eq!(first.get(&key).as_ref(), Some(&value), "{bytes} bytes read");
        // In pieces, without a reply, and followed by another command.
        let request = format!("set {key} 0 0 {bytes} noreply\r\n");
        first.send(request.as_bytes());
        for piece in value.chunks(bytes as usize / 3 + 1) {
            first.send(piece);
        }
        first.send(b"\r\n");
        assert_eq!(
            first.ask("version").map(|line| line.contains("1.6")),
            Some(true)
        );
        assert_eq!(second.get(&key), Some(value));
    }
    let key = fleet.key_of(2, 9);
    first.send(format!("set {key} 0 0 {}\r\n", 9 << 20).as_bytes());
    first.send(&vec![b'x'; 9 << 20]);
    let refusal = first.ask("").expect("an answer");
    assert_eq!(refusal, "SERVER_ERROR object too large for cache");
    // What does not fit beside the memory for items is not gathered.
    first.send(format!("set {key} 0 0 {}\r\n", 65 << 20).as_bytes());
    let refusal = first.line().expect("an answer before the value");
    assert_eq!(
        refusal,
        "SERVER_ERROR too much is being forwarded to other servers"
    );
    for _ in 0..65 {
        first.send(&vec![b'x'; 1 << 20]);
    }
    assert_eq!(first.ask("\r\nmn").as_deref(), Some("MN"));
}

#[test]
fn a_pipeline_is_answered_in_its_order() {
    let fleet = Fleet::start(3, &[]);
    let mut client = fleet.connect(2);
    let mut request = String::new();
    let mut expected = Vec::new();
    for number in 0..200 {
        let key = fleet.key_of(1 + number % 3, number as usize / 3);
        let value = 100 + number;
        request += &format!("set {key} 0 0 3\r\n{value}\r\n");
        request += &format!("mg {key} v\r\nincr {key} 1\r\nincr {key} 1\r\nmg {key} k\r\n");
        request += &format!("mg {key}x v\r\nmg {key} v\r\nget {key} {key}x\r\n");
        let (before, last) = (value.to_string(), (value + 2).to_string());
        expected.extend(["STORED".to_owned(), "VA 3".to_owned(), before]);
        expected.extend([(value + 1).to_string(), last.clone(), format!("HD k{key}")]);
        expected.extend(["EN".to_owned(), "VA 3".to_owned(), last.clone()]);
        expected.extend([format!("VALUE {key} 0 3"), last, "END".to_owned()]);
    }
    client.send(request.as_bytes());
    for (number, line) in expected.iter().enumerate() {
        assert_eq!(client.line().as_ref(), Some(line), "line {number}");
    }
}
