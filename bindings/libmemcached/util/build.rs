//! Gives the library the name that programs ask the loader for, and the library that it needs.

#[path = "../stub.rs"]
mod stub;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmemcachedutil.so.2");
    stub::need("libmemcached.so.11");
}
