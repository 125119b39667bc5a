//! For build scripts: makes a library need another of the three, as libmemcached's do.
//!
//! Cargo cannot link one `cdylib` with another that it builds. The linker only has to know the
//! other's name; so it is given an empty library of that name, and the functions stay undefined
//! until the loader finds the real one.

use std::path::Path;
use std::process::Command;

/// Lets the library that is built ask the loader for `needed`, first in its own folder.
///
/// # Panics
/// There is no C compiler, which Rust's own linking needs too.
pub fn need(needed: &str) {
    let folder = std::env::var("OUT_DIR").expect("cargo sets it");
    let source = Path::new(&folder).join("empty.c");
    let stub = Path::new(&folder).join(needed);
    std::fs::write(&source, "").expect("the build folder can be written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let made = Command::new(&compiler)
        .arg("-shared")
        .arg(format!("-Wl,-soname,{needed}"))
        .arg("-o")
        .args([&stub, &source])
        .status();
    assert!(
        made.is_ok_and(|status| status.success()),
        "{compiler} cannot make a library"
    );
    println!("cargo:rerun-if-changed=../stub.rs");
    for argument in [
        "-Wl,--no-as-needed",
        &stub.display().to_string(),
        "-Wl,--as-needed",
    ] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
}
