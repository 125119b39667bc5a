//! The coder makes the shards that this machine's ISA-L makes, where there is one (Debian's package
//! libisal2).

mod common;

use common::{bytes, coders, encoded, reconstructed};
use libloading::Library;
use std::{
    ffi::{c_int, c_uchar},
    io::{self, Write},
};

type Generate = unsafe extern "C" fn(*mut c_uchar, c_int, c_int);
type Prepare = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type Encode =
    unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const *const u8, *const *mut u8);

/// ISA-L, or nothing after saying so past the test runner, which hides what passing tests print.
fn isal() -> Option<Library> {
    // SAFETY: ISA-L is a library of plain functions, which runs nothing when loaded.
    let loaded = unsafe { Library::new("libisal.so.2") };
    loaded
        .inspect_err(|error| {
            writeln!(io::stderr(), "\nSKIPPED: no ISA-L to compare with: {error}")
                .expect("standard error is open");
        })
        .ok()
}

/// ISA-L's parity shards.
fn parity_of(isal: &Library, k: usize, m: usize, data: &[&[u8]]) -> Vec<Vec<u8>> {
    let shard_bytes = data[0].len();
    let mut matrix = vec![0; (k + m) * k];
    let mut tables = vec![0; 32 * k * m];
    let mut parity = vec![vec![0; shard_bytes]; m];
    let sources: Vec<*const u8> = data.iter().map(|shard| shard.as_ptr()).collect();
    let outputs: Vec<*mut u8> = parity.iter_mut().map(|shard| shard.as_mut_ptr()).collect();
    let (columns, rows) = (k as c_int, m as c_int);
    // The first parity row of the Vandermonde matrix is all ones.
    let name: &[u8] = if m == 1 {
        b"gf_gen_rs_matrix"
    } else {
        b"gf_gen_cauchy1_matrix"
    };
    // SAFETY: the types are those of erasure_code.h, the memory has the sizes that it asks for.
    unsafe {
        isal.get::<Generate>(name).unwrap()(matrix.as_mut_ptr(), columns + rows, columns);
        let coefficients = matrix[k * k..].as_ptr();
        isal.get::<Prepare>(b"ec_init_tables").unwrap()(
            columns,
            rows,
            coefficients,
            tables.as_mut_ptr(),
        );
        let encode = isal.get::<Encode>(b"ec_encode_data").unwrap();
        encode(
            shard_bytes as c_int,
            columns,
            rows,
            tables.as_ptr(),
            sources.as_ptr(),
            outputs.as_ptr(),
        );
    }
    parity
}

#[test]
fn shards_equal_those_of_the_isa_l_of_this_machine() {
    let Some(isal) = isal() else {
        return;
    };
    let source = bytes(12 * 5000);
    for (k, m) in (1..=12).flat_map(|k| (1..=6).map(move |m| (k, m))) {
        for shard_bytes in [1, 15, 64, 100, 1000, 4096, 5000] {
            let data: Vec<&[u8]> = source.chunks(shard_bytes).take(k).collect();
            let expected = parity_of(&isal, k, m, &data);
            let all: Vec<&[u8]> = data
                .iter()
                .copied()
                .chain(expected.iter().map(Vec::as_slice))
                .collect();
            let lost: Vec<usize> = (0..m.min(k)).collect();
            for mut coder in coders(k, m) {
                let kernel = coder.kernel().name();
                assert_eq!(
                    encoded(&coder, &data),
                    expected,
                    "({k},{m}) {kernel} {shard_bytes}"
                );
                let found = reconstructed(&mut coder, &all, &lost);
                assert_eq!(found, data[..m.min(k)], "({k},{m}) {kernel} {shard_bytes}");
            }
        }
    }
}
