//! What does not fit is refused by an error, and nothing is written.

use farcache_erasure::{Coder, Error, Scheme};

fn coder() -> Coder {
    Coder::new(Scheme::new(3, 2).expect("a scheme"))
}

#[test]
fn another_number_of_shards_is_refused() {
    let (mut first, mut second) = ([7; 4], [7; 4]);
    let few: [&[u8]; 2] = [&[1; 4]; 2];
    let found = coder().encode(&few, &mut [&mut first, &mut second]);
    assert_eq!(
        found,
        Err(Error::ShardCount {
            expected: 3,
            found: 2
        })
    );
    let found = coder().encode_value(&[1; 12], &mut [&mut first]);
    assert_eq!(
        found,
        Err(Error::ShardCount {
            expected: 2,
            found: 1
        })
    );
    let found = coder().update(0, &[1; 4], &mut [&mut first]);
    assert_eq!(
        found,
        Err(Error::ShardCount {
            expected: 2,
            found: 1
        })
    );
    assert_eq!([first, second], [[7; 4]; 2]);
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let (mut first, mut second) = ([7; 4], [7; 4]);
    let growing: [&[u8]; 3] = [&[1; 4], &[1; 3], &[1; 4]];
    let found = coder().encode(&growing, &mut [&mut first, &mut second]);
    assert_eq!(found, Err(Error::ShardLength));
    for bytes in [9, 13] {
        let found = coder().encode_value(&vec![1; bytes], &mut [&mut first, &mut second]);
        assert_eq!(found, Err(Error::ShardLength), "{bytes}");
    }
    let found = coder().update(1, &[1; 5], &mut [&mut first, &mut second]);
    assert_eq!(found, Err(Error::ShardLength));
    assert_eq!([first, second], [[7; 4]; 2]);
}

#[test]
fn a_short_parity_shard_is_refused_because_only_data_is_padded() {
    let mut found = [7; 4];
    let present: [(usize, &[u8]); 3] = [(0, &[1; 3]), (1, &[1; 3]), (3, &[1; 3])];
    let result = coder().reconstruct(&present, &mut [(2, &mut found)]);
    assert_eq!(result, Err(Error::ShardLength));
    assert_eq!(found, [7; 4]);
}

#[test]
fn shards_that_are_not_there_or_twice_there_are_refused() {
    let (mut first, mut second) = ([7; 4], [7; 4]);
    let shard: &[u8] = &[1; 4];
    let enough = [(0, shard), (1, shard), (3, shard)];
    let mut coder = coder();
    let mut check = |present: &[(usize, &[u8])], wanted: [usize; 2], error| {
        let mut wanted = [(wanted[0], &mut first[..]), (wanted[1], &mut second[..])];
        assert_eq!(coder.reconstruct(present, &mut wanted), Err(error));
    };
    let too_few = Error::TooFewShards {
        needed: 3,
        present: 2,
    };
    check(&enough[..2], [2, 4], too_few);
    check(
        &[(0, shard), (1, shard), (5, shard)],
        [2, 4],
        Error::NoSuchShard(5),
    );
    check(
        &[(0, shard), (1, shard), (1, shard)],
        [2, 4],
        Error::RepeatedShard(1),
    );
    check(&enough, [2, 9], Error::NoSuchShard(9));
    check(&enough, [2, 2], Error::RepeatedShard(2));
    assert_eq!(
        coder.update(3, shard, &mut [&mut [7; 4], &mut [7; 4]]),
        Err(Error::NoSuchShard(3))
    );
    assert_eq!([first, second], [[7; 4]; 2]);
}

#[test]
fn wanting_nothing_is_no_error() {
    let shard: &[u8] = &[1; 4];
    let present = [(0, shard), (1, shard), (3, shard)];
    assert_eq!(coder().reconstruct(&present, &mut []), Ok(()));
}

#[test]
fn shards_may_be_given_and_wanted_in_any_order() {
    let value = b"abcdefghijkl";
    let (mut third, mut fourth) = ([0; 4], [0; 4]);
    let mut coder = coder();
    coder
        .encode_value(value, &mut [&mut third, &mut fourth])
        .expect("it fits");
    let present: [(usize, &[u8]); 3] = [(4, &fourth), (1, &value[4..8]), (3, &third)];
    let (mut last, mut first) = ([0; 4], [0; 4]);
    coder
        .reconstruct(&present, &mut [(2, &mut last), (0, &mut first)])
        .expect("enough");
    assert_eq!([&first, &last], [b"abcd", b"ijkl"]);
}

#[test]
fn the_same_shard_comes_back_from_whichever_others_are_present() {
    let value = b"abcdefghijkl";
    let (mut third, mut fourth) = ([0; 4], [0; 4]);
    let mut coder = coder();
    coder
        .encode_value(value, &mut [&mut third, &mut fourth])
        .expect("it fits");
    for parity in [(3, &third[..]), (4, &fourth[..]), (3, &third[..])] {
        let mut first = [0; 4];
        let present = [(1, &value[4..8]), (2, &value[8..]), parity];
        let wanted = &mut [(0, &mut first[..])];
        coder.reconstruct(&present, wanted).expect("enough");
        assert_eq!(&first, b"abcd");
    }
}
