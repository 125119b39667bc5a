use super::*;

/// The hash of a key is the number that it spells.
fn number(_: u8, key: &[u8]) -> u32 {
    let text = std::str::from_utf8(key).expect("digits");
    text.parse().expect("digits")
}

fn arcs(arcs: &[(u32, u32)]) -> KeyArcs {
    KeyArcs {
        hash: 1,
        arcs: arcs.to_vec(),
    }
}

fn fences() -> Fences {
    Fences::new(Some(KeyHash(number)))
}

#[test]
fn a_fence_voids_its_keys_up_to_its_moment() {
    let (fences, flush) = (fences(), Flush::default());
    assert!(!fences.void(1, b"15"));
    fences.begin(arcs(&[(10, 19), (40, 40)]), &flush, || 7);
    assert!(flush.is_sweeping());
    let voided = |sequence, key: &str| fences.void(sequence, key.as_bytes());
    for key in ["10", "15", "19", "40"] {
        assert!(voided(7, key) && voided(1, key), "{key}");
        assert!(!voided(8, key), "{key} is younger");
    }
    for key in ["9", "20", "39", "41"] {
        assert!(!voided(7, key), "{key} is not shut out");
    }
}

#[test]
fn a_fence_voids_what_is_begun_until_it_has_told_everybody() {
    let (fences, flush) = (fences(), Flush::default());
    let numbers = std::cell::RefCell::new(vec![9, 9, 8, 5]);
    fences.begin(arcs(&[(1, 1)]), &flush, || {
        numbers.borrow_mut().pop().unwrap()
    });
    assert!(fences.void(9, b"1") && !fences.void(10, b"1"));
}

#[test]
fn without_the_hash_a_fence_shuts_out_every_key() {
    let (fences, flush) = (Fences::new(None), Flush::default());
    fences.begin(arcs(&[(1, 1)]), &flush, || 3);
    assert!(fences.void(3, b"any") && !fences.void(4, b"any"));
}

#[test]
fn too_many_fences_are_joined_and_shut_out_no_less() {
    let (fences, flush) = (fences(), Flush::default());
    let count = FENCES_MAX as u32 + 10;
    for one in 0..count {
        fences.begin(arcs(&[(2 * one, 2 * one)]), &flush, || u64::from(one));
    }
    assert_eq!(fences.list().len(), FENCES_MAX);
    for one in 0..count {
        let key = (2 * one).to_string();
        assert!(fences.void(u64::from(one), key.as_bytes()), "{one}");
    }
    let last = (2 * (count - 1)).to_string();
    assert!(!fences.void(u64::from(count), last.as_bytes()));
    assert!(!fences.void(1, b"3"), "an odd key is never shut out");
}

#[test]
fn a_fence_is_forgotten_when_nothing_is_left_to_shut_out() {
    let (fences, flush) = (fences(), Flush::default());
    fences.begin(arcs(&[(1, 1)]), &flush, || 3);
    fences.begin(arcs(&[(2, 2)]), &flush, || 5);
    fences.retire(4);
    assert!(!fences.void(3, b"1") && fences.void(5, b"2"));
    assert_eq!(fences.newest(), 5);
    fences.retire(5);
    assert_eq!((fences.newest(), fences.list().len()), (0, 0));
}
