//! The header that is checked in is the one that the sources make. `scripts/c-header` writes it
//! anew.

use std::path::{Path, PathBuf};

/// In the order in which a reader of the header wants to meet them.
const SOURCES: [&str; 14] = [
    "status", "options", "client", "call", "request", "outcome", "result", "buffer", "get",
    "get_many", "store", "change", "servers", "blob",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn made(folder: &Path) -> String {
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("settings");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(folder.join("src").join(source).with_extension("rs"));
    }
    let mut header = Vec::new();
    let bindings = builder.generate().expect("the sources can be read");
    bindings.write(&mut header);
    String::from_utf8(header).expect("text")
}

#[test]
fn the_header_is_that_of_the_sources() {
    let (folder, made) = (folder(), made(&folder()));
    let path = folder.join("include/farcache.h");
    if std::env::var_os("FARCACHE_WRITE_HEADER").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == checked_in,
        "include/farcache.h is out of date: run scripts/c-header"
    );
}

#[test]
fn every_exported_function_is_declared() {
    let folder = folder();
    let header = made(&folder);
    let mut functions = 0;
    for entry in std::fs::read_dir(folder.join("src")).expect("sources") {
        let text = std::fs::read_to_string(entry.expect("a file").path()).expect("text");
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("extern \"C\" fn farcache_") else {
                continue;
            };
            let name = rest.split('(').next().expect("a name");
            assert!(header.contains(&format!("farcache_{name}(")), "{name}");
            functions += 1;
        }
    }
    assert!(functions >= 35, "{functions}");
}
