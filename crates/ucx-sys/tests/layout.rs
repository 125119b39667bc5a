//! The structures and constants written by hand against the installed header.

use farcache_ucx_sys::raw::{API_VERSION, CONSTANTS, LAYOUTS};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output};

/// Says why a test did nothing, past the test runner, which hides what passing tests print.
fn skipped(reason: &str) {
    writeln!(io::stderr(), "\nSKIPPED: {reason}").expect("standard error is open");
}

/// What C must say of one thing.
struct Claim {
    what: String,
    expression: String,
    value: i64,
    /// Later versions append to structures, so there the header's size may be larger.
    may_grow: bool,
}

fn claim(what: String, expression: String, value: i64) -> Claim {
    Claim {
        what,
        expression,
        value,
        may_grow: false,
    }
}

fn bytes(count: usize) -> i64 {
    i64::try_from(count).expect("a small number")
}

fn claims() -> Vec<Claim> {
    let mut claims = vec![claim(
        "size of a status".into(),
        "sizeof(ucs_status_t)".into(),
        1,
    )];
    for layout in LAYOUTS.iter().copied().flatten() {
        let name = layout.name;
        let size = claim(
            format!("size of {name}"),
            format!("sizeof({name})"),
            bytes(layout.bytes),
        );
        claims.push(Claim {
            may_grow: true,
            ..size
        });
        for field in layout.fields {
            let path = format!("{name}.{}", field.name);
            let offset = format!("offsetof({name}, {})", field.name);
            let size = format!("sizeof((({name} *)0)->{})", field.name);
            claims.push(claim(
                format!("offset of {path}"),
                offset,
                bytes(field.offset),
            ));
            claims.push(claim(format!("size of {path}"), size, bytes(field.bytes)));
        }
    }
    for (name, value) in CONSTANTS.iter().copied().flatten() {
        claims.push(claim(format!("value of {name}"), (*name).into(), *value));
    }
    claims
}

/// A program that prints the header's minor version, then each claim's value, a line each.
fn program(claims: &[Claim]) -> String {
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <ucp/api/ucp.h>\nint main(void) {\n\
         printf(\"%d\\n\", UCP_API_MINOR);\n",
    );
    for claim in claims {
        text += &format!("printf(\"%lld\\n\", (long long)({}));\n", claim.expression);
    }
    text + "return 0;\n}\n"
}

/// Compiles the text to a program; nothing where there is no compiler.
fn compile(folder: &Path, text: &str) -> Option<Output> {
    let source = folder.join("layout.c");
    std::fs::write(&source, text).expect("a writable folder");
    Command::new("cc")
        .arg("-o")
        .arg(folder.join("layout"))
        .arg(source)
        .output()
        .ok()
}

#[test]
fn structures_and_constants_are_those_of_the_header() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(probe) = compile(
        folder.path(),
        "#include <ucp/api/ucp.h>\nint main(void) {}\n",
    ) else {
        return skipped("no C compiler (cc) to read UCX's header with");
    };
    if !probe.status.success() {
        return skipped("UCX's header ucp/api/ucp.h is not installed (package libucx-dev)");
    }
    let claims = claims();
    let compiled = compile(folder.path(), &program(&claims)).expect("the compiler of before");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let said = Command::new(folder.path().join("layout"))
        .output()
        .expect("what was compiled");
    let said = String::from_utf8(said.stdout).expect("numbers");
    let mut values = said
        .lines()
        .map(|line| line.parse::<i64>().expect("a number"));
    let newer = values.next().expect("the version") > i64::from(API_VERSION.1);
    let values: Vec<i64> = values.collect();
    assert_eq!(values.len(), claims.len());
    for (claim, value) in claims.iter().zip(values) {
        let agrees = value == claim.value || newer && claim.may_grow && value > claim.value;
        assert!(
            agrees,
            "{}: {value} in the header, {} here",
            claim.what, claim.value
        );
    }
}
