//! However a stream of requests is cut into pieces, the answers are the same.

use crate::Server;
use farcache_session::{Session, Status};
use proptest::prelude::*;

/// A request whose answer does not depend on when it comes.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let key = prop::sample::select(vec!["a", "b", "longer-key", "Zm9v"]);
    let value = prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..40),
        1 => prop::collection::vec(any::<u8>(), 16_000..20_000),
    ];
    let read = prop::sample::select(vec![
        "get {k}",
        "get a b {k}",
        "mg {k} v",
        "mg {k} s t f k O1 q",
        "mg {k} b k v",
        "mg {k} N30 v",
        "delete {k}",
        "incr {k} 1",
        "touch {k} 10",
        "md {k} I",
        "ma {k} N0 J5 v",
        "gat 50 {k} a",
        "flush_all",
        "mn",
        "nonsense",
        "mg {k} !",
        "version",
        "gets",
        "decr {k} x",
        "me x",
        "verbosity 1 noreply",
    ]);
    let store = prop::sample::select(vec![
        "set {k} 1 0 {n}",
        "add {k} 1 100 {n}",
        "append {k} 0 0 {n}",
        "set {k} 0 0 {n} noreply",
        "ms {k} {n} k O9",
        "ms {k} {n} q",
        "ms {k} {n} b MA",
        "ms {k} {n} !",
        "cas {k} 0 0 {n} 1",
        "ms {k} {n} E44 c",
    ]);
    prop_oneof![
        (read, key.clone())
            .prop_map(|(form, key)| format!("{}\r\n", form.replace("{k}", key)).into_bytes()),
        (store, key, value).prop_map(|(form, key, value)| {
            let line = form
                .replace("{k}", key)
                .replace("{n}", &value.len().to_string());
            [line.as_bytes(), b"\r\n", &value, b"\r\n"].concat()
        }),
    ]
}

/// Feeds the stream in pieces of these sizes, again and again, as a driver with one buffer does.
fn feed(stream: &[u8], sizes: &[usize]) -> Vec<u8> {
    let (mut server, mut session) = (Server::new(), Session::default());
    let (mut buffer, mut answer) = (Vec::new(), Vec::new());
    let mut rest = stream;
    for size in sizes.iter().cycle() {
        let piece = rest.split_off(..rest.len().min(*size)).expect("within");
        buffer.extend_from_slice(piece);
        loop {
            let (consumed, status, bytes) = server.step(&mut session, &buffer);
            answer.extend(bytes);
            buffer.drain(..consumed);
            if status != Status::Yield {
                break;
            }
        }
        let room = session.value_buffer().len().min(rest.len());
        if room > 0 && size % 2 == 0 {
            session.value_buffer()[..room].copy_from_slice(&rest[..room]);
            session.value_received(room);
            rest = &rest[room..];
        }
        if rest.is_empty() && (piece.is_empty() || room == 0) {
            return answer;
        }
    }
    answer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_split_gives_the_same_answers(
        requests in prop::collection::vec(request(), 1..30),
        sizes in prop::collection::vec(prop_oneof![1..20_usize, 1..30_000_usize], 1..20),
    ) {
        let stream = requests.concat();
        let (in_pieces, at_once) = (feed(&stream, &sizes), feed(&stream, &[usize::MAX]));
        prop_assert_eq!(String::from_utf8_lossy(&in_pieces), String::from_utf8_lossy(&at_once));
    }

    #[test]
    fn a_multiget_of_any_length_may_come_in_pieces(
        keys in 1..2000_usize,
        sizes in prop::collection::vec(1..5000_usize, 1..5),
    ) {
        let stream = format!("set key7 0 0 1\r\na\r\ngets{}\r\nmn\r\n", (0..keys).map(|n| format!(" key{n}")).collect::<String>());
        prop_assert_eq!(feed(stream.as_bytes(), &sizes), feed(stream.as_bytes(), &[usize::MAX]));
    }

    #[test]
    fn no_stream_panics(stream in prop::collection::vec(any::<u8>(), 0..4000), size in 1..500_usize) {
        feed(&stream, &[size]);
    }
}
