use super::*;
use crate::load::values::ValueSizes;

fn sizes() -> Sizes {
    Sizes {
        untold: ValueSizes::fixed(50),
        bytes_max: 1000,
    }
}

#[test]
fn objects_are_numbered_as_they_appear_and_sizes_are_limited() {
    let mut builder = Builder::new(sizes(), 3);
    builder.add(Record::read(900, Some(5000)));
    builder.add(Record::read(7, None));
    builder.add(Record::read(900, Some(10)));
    assert!(builder.is_full());
    builder.add(Record::read(8, None));
    let trace = builder.finish();
    let request = |object, value_bytes| Request {
        object,
        value_bytes,
    };
    assert_eq!(
        trace.requests,
        [request(0, 1000), request(1, 50), request(0, 10)]
    );
    assert_eq!((trace.objects, trace.value_bytes), (2, 1050));
}

#[test]
fn a_record_that_is_no_read_tells_a_size_only() {
    let mut builder = Builder::new(sizes(), 10);
    let record = |value_bytes, is_read| Record {
        key: 1,
        value_bytes,
        is_read,
    };
    builder.add(record(None, true));
    builder.add(record(Some(300), false));
    builder.add(record(Some(300), true));
    let trace = builder.finish();
    let request = Request {
        object: 0,
        value_bytes: 300,
    };
    assert_eq!((trace.requests, trace.value_bytes), (vec![request; 2], 300));
}
