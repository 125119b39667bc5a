use super::*;

const ITEM: MovedItem<'_> = MovedItem {
    key: b"key",
    value: Some(b"vv"),
    flags: 0x0102,
    expires_in_s: Some(9),
    cas: Some(0x0304),
    key_is_binary: true,
    is_win_sent: true,
};

/// Derived by hand from the table above.
const ITEM_BYTES: &[u8] = &[
    3, 3, 0, 0, 1, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 2, b'k', b'e', b'y', b'v', b'v',
];

#[test]
fn an_item_is_read_as_it_is_written() {
    let mut bytes = Vec::new();
    ITEM.push(&mut bytes);
    assert_eq!(bytes, ITEM_BYTES);
    assert_eq!(MovedItem::take(&mut &bytes[..]), Some(ITEM));
    for length in 0..bytes.len() {
        assert_eq!(MovedItem::take(&mut &bytes[..length]), None, "{length}");
    }
}

#[test]
fn bodies_are_read_as_they_are_written() {
    let acknowledged = Acknowledged {
        instance: 7,
        epoch: 1 << 40,
    };
    let read = Acknowledged::decode(&acknowledged.encode());
    assert_eq!(read, Some(acknowledged));
    let fetch = Fetch {
        instance: 9,
        key: b"k",
    };
    assert_eq!(Fetch::decode(&fetch.encode()), Some(fetch));
    for place in [Some([4; 16]), None] {
        let pull = Pull { instance: 3, place };
        assert_eq!(Pull::decode(&pull.encode()), Some(pull));
    }
    let fetched = [
        Fetched::OtherInstance,
        Fetched::Nothing,
        Fetched::Item(ITEM),
    ];
    for fetched in fetched {
        let mut bytes = Vec::new();
        fetched.push(&mut bytes);
        assert_eq!(Fetched::decode(&bytes), Some(fetched));
        bytes.push(0);
        assert_eq!(Fetched::decode(&bytes), None, "more than there should be");
    }
}

#[test]
fn a_batch_of_items_is_read_as_it_is_written() {
    let by_key = MovedItem {
        value: None,
        expires_in_s: None,
        cas: None,
        ..ITEM
    };
    for next in [Some([5; 16]), None] {
        let head = PulledHead::Items { next, progress: 6 };
        let mut bytes = head.encode().to_vec();
        ITEM.push(&mut bytes);
        by_key.push(&mut bytes);
        let items = vec![ITEM, by_key];
        assert_eq!(Pulled::decode(&bytes), Some(Pulled { head, items }));
    }
    let bytes = PulledHead::OtherInstance.encode();
    let expected = Pulled {
        head: PulledHead::OtherInstance,
        items: Vec::new(),
    };
    assert_eq!(Pulled::decode(&bytes), Some(expected));
}

#[test]
fn bodies_that_make_no_sense_are_refused() {
    let no_key = Fetch {
        instance: 1,
        key: b"",
    };
    assert_eq!(Fetch::decode(&no_key.encode()), None);
    let long = Fetch {
        instance: 1,
        key: &[b'k'; 251],
    };
    assert_eq!(Fetch::decode(&long.encode()), None);
    assert_eq!(Pull::decode(&[0; 23]), None, "part of a place");
    let mut marks = ITEM_BYTES.to_vec();
    marks[0] = 8;
    assert_eq!(MovedItem::take(&mut &marks[..]), None);
    marks[0] = 4;
    assert_eq!(
        MovedItem::take(&mut &marks[..]),
        None,
        "a value that is not here"
    );
    let mut head = PulledHead::OtherInstance.encode();
    head[9] = 1;
    assert_eq!(Pulled::decode(&head), None);
    head[0] = 2;
    assert_eq!(Pulled::decode(&head), None, "a place behind the last");
}
