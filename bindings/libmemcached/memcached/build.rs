//! Gives the library the name that programs ask the loader for, and the library that it needs.

#[path = "../stub.rs"]
mod stub;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmemcached.so.11");
    stub::need("libhashkit.so.2");
    // Not called here, but by programs that expect libmemcached to bring it.
    stub::need("libsasl2.so.2");
}
