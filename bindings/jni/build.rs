//! How the shared library is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The virtual machine unloads a library with its class loader, but threads of the client and of
    // UCX may stay. And a libfarcache elsewhere in the process is none of ours.
    println!("cargo:rustc-link-arg-cdylib=-Wl,-z,nodelete,-z,relro,-z,now,-Bsymbolic");
}
