//! Decoding binary packets from whatever comes.

use farcache_proto::binary::{ArithmeticExtras, Head, Header, Packet, SetExtras, decode_u32};
use proptest::prelude::*;

fn header() -> impl Strategy<Value = Header> {
    (any::<[u8; 4]>(), any::<u16>(), any::<u32>(), any::<u64>()).prop_map(
        |(bytes, status, opaque, cas)| {
            let [magic, opcode, data_type, _] = bytes;
            Header {
                magic,
                opcode,
                data_type,
                status,
                opaque,
                cas,
                ..Header::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(Some((packet, used))) = Packet::decode(&bytes) {
            prop_assert!(used <= bytes.len());
            let mut encoded = Vec::new();
            packet.encode(&mut encoded);
            prop_assert_eq!(&encoded, &bytes[..used]);
        }
        let _ = (SetExtras::decode(&bytes), ArithmeticExtras::decode(&bytes), decode_u32(&bytes));
    }

    #[test]
    fn what_is_encoded_is_decoded(
        header in header(),
        extras in prop::collection::vec(any::<u8>(), 0..256),
        key in prop::collection::vec(any::<u8>(), 0..300),
        value in prop::collection::vec(any::<u8>(), 0..3000),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        Packet { header, extras: &extras, key: &key, value: &value }.encode(&mut bytes);
        let (packet, used) = Packet::decode(&bytes).unwrap().unwrap();
        prop_assert_eq!(used, bytes.len());
        prop_assert_eq!((packet.extras, packet.key, packet.value), (&extras[..], &key[..], &value[..]));
        let cut = cut.index(bytes.len());
        prop_assert_eq!(Packet::decode(&bytes[..cut]), Ok(None));
        let head_is_there = cut >= bytes.len() - value.len();
        prop_assert_eq!(Head::decode(&bytes[..cut]).unwrap().is_some(), head_is_there);
    }
}
