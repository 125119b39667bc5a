//! What a server reads from its peers: greetings, pages of lists, and replies in pieces of any
//! size. Nothing panics, what is read is written back byte for byte, each request has one answer at
//! most, and how the bytes are cut makes no difference.
#![no_main]

use farcache_peers::frame::{HEAD_BYTES, Head, Kind};
use farcache_peers::greeting::{CHALLENGE_BYTES, Challenge, HELLO_BYTES, Hello, Secret};
use farcache_peers::link::{Answer, Broken, Limits, Link};
use farcache_peers::listing::{Inquiry, read_page};
use farcache_peers::moves::{Acknowledged, Fetch, Fetched, Pull, Pulled};
use libfuzzer_sys::fuzz_target;

const REQUESTS: u32 = 4;

const LIMITS: Limits = Limits {
    requests_max: REQUESTS as usize,
    request_bytes_max: 1 << 10,
    reply_bytes_max: 1 << 10,
};

fuzz_target!(|input: &[u8]| {
    let Some((&seed, input)) = input.split_first() else {
        return;
    };
    greet(input);
    move_keys(input);
    list(input);
    let whole = answers(input, usize::MAX, seed);
    let cut = answers(input, 1 + usize::from(seed % 31), seed);
    if let Ok(whole) = &whole {
        assert_eq!(cut.as_ref(), Ok(whole));
    }
    assert_eq!(whole.is_err(), cut.is_err());
});

/// Pages and what asks for them are written back to the same bytes.
fn list(input: &[u8]) {
    if let Some(inquiry) = Inquiry::decode(input) {
        assert_eq!(inquiry.encode(), input);
    }
    let Ok((head, entries)) = read_page(input) else {
        return;
    };
    let mut written = head.encode().to_vec();
    for entry in &entries {
        entry.encode_to(&mut written);
    }
    assert_eq!(written, input);
}

fn greet(input: &[u8]) {
    if let Some(bytes) = input.first_chunk::<HEAD_BYTES>()
        && let Some(head) = Head::decode(bytes)
    {
        assert_eq!(head.encode(), *bytes);
    }
    let Some(hello) = input.first_chunk::<HELLO_BYTES>() else {
        return;
    };
    if let Ok(decoded) = Hello::decode(hello) {
        assert_eq!(decoded.encode(), *hello);
    }
    if let Some(bytes) = input[HELLO_BYTES..].first_chunk::<CHALLENGE_BYTES>() {
        let _ = Challenge::decode(bytes, hello, None);
        let secret = Secret::new(&input[..16]);
        let _ = Challenge::decode(bytes, hello, Some(&secret));
    }
}

/// Whatever is read of moving keys is written back byte for byte.
fn move_keys(input: &[u8]) {
    if let Some(said) = Acknowledged::decode(input) {
        assert_eq!(said.encode(), input);
    }
    if let Some(fetch) = Fetch::decode(input) {
        assert_eq!(fetch.encode(), input);
    }
    if let Some(pull) = Pull::decode(input) {
        assert_eq!(pull.encode(), input);
    }
    let mut written = Vec::new();
    if let Some(fetched) = Fetched::decode(input) {
        fetched.push(&mut written);
        assert_eq!(written, input);
    }
    if let Some(pulled) = Pulled::decode(input) {
        let mut written = pulled.head.encode().to_vec();
        pulled.items.iter().for_each(|item| item.push(&mut written));
        assert_eq!(written, input);
    }
}

/// What is answered to some requests, of which the first are late where the seed says so.
fn answers(input: &[u8], piece: usize, seed: u8) -> Result<Vec<(u32, Answer)>, Broken> {
    let mut link = Link::new(LIMITS);
    for tag in 0..REQUESTS {
        link.ask(Kind::Request, tag, 1, 10, u64::from(tag))
            .expect("there is room");
    }
    let mut late = Vec::new();
    if seed & 0x80 != 0 {
        link.expire(1, |tag| late.push(tag));
    }
    let mut answers = Vec::new();
    for piece in input.chunks(piece.min(input.len()).max(1)) {
        link.receive(piece, |tag, answer| answers.push((tag, answer)))?;
    }
    let answered = answers.iter().map(|(tag, _)| *tag);
    let mut in_order: Vec<u32> = answered.clone().collect();
    in_order.sort_unstable();
    assert!(in_order.is_sorted_by(|one, next| one < next));
    assert!(answered.clone().all(|tag| !late.contains(&tag)));
    assert!(answers.iter().all(|(_, answer)| match answer {
        Answer::Reply(reply) => reply.len() <= LIMITS.reply_bytes_max,
        _ => true,
    }));
    let mut ended = Vec::new();
    link.end(|tag| ended.push(tag));
    assert_eq!(answers.len() + late.len() + ended.len(), REQUESTS as usize);
    Ok(answers)
}
