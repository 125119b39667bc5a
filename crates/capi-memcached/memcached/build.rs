//! Gives the library the name that programs ask the loader for, and the library that it needs.

#[path = "../stub.rs"]
mod stub;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmemcached.so.11");
    stub::need("libhashkit.so.2");
}
