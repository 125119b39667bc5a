//! Gives the library the name that programs linked with libhashkit ask the loader for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhashkit.so.2");
}
