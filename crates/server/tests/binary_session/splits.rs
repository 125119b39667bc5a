//! However a stream is cut into pieces, the replies are the same.

use crate::client::{Client, Response, Server, bare, keyed, packet, responses, set};
use farcache_proto::binary::{ArithmeticExtras, Opcode};
use farcache_server::settings::Settings;
use proptest::prelude::*;

fn request() -> impl Strategy<Value = Vec<u8>> {
    let key = prop::sample::select(vec![b"a".to_vec(), b"b".to_vec(), vec![b'k'; 250]]);
    let value_bytes = prop_oneof![8 => 0..50_usize, 1 => 16_000..40_000_usize, 1 => Just(2 << 20)];
    (0..10_u8, key, value_bytes).prop_map(|(kind, key, bytes)| {
        let value = vec![b'1'; bytes];
        let number = ArithmeticExtras {
            delta: 2,
            initial: 3,
            expiration: 0,
        }
        .encode();
        match kind {
            0 => set(Opcode::Set, &key, &value, 0),
            1 => set(Opcode::SetQ, &key, &value, 0),
            2 => set(Opcode::Add, &key, &value, 0),
            3 => packet(Opcode::Append, &[], &key, &value, 0),
            4 => keyed(Opcode::Get, &key),
            5 => keyed(Opcode::GetKQ, &key),
            6 => packet(Opcode::Increment, &number, &key, &[], 0),
            7 => packet(Opcode::GatK, &[0, 0, 1, 0], &key, &[], 0),
            8 => keyed(Opcode::Delete, &key),
            _ => bare(Opcode::Noop),
        }
    })
}

/// What comes back, without the tokens, which depend on where items lie.
fn replies(stream: &[u8], pieces: &[usize]) -> Vec<Response> {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    let mut answer = Vec::new();
    let mut rest = stream;
    for bytes in pieces.iter().cycle() {
        let (piece, behind) = rest.split_at((*bytes).min(rest.len()));
        answer.extend(client.send_raw(&mut server, piece));
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    let mut responses = responses(&answer);
    responses
        .iter_mut()
        .for_each(|response| response.header.cas = 0);
    responses
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_split_gives_the_same_replies(
        requests in prop::collection::vec(request(), 1..30),
        pieces in prop::collection::vec(prop_oneof![1..100_usize, 1000..70_000_usize], 1..20),
    ) {
        let stream = requests.concat();
        prop_assert!(replies(&stream, &pieces) == replies(&stream, &[stream.len()]), "{pieces:?}");
    }
}
