//! The manual page is made from the options' own descriptions; this keeps the two together.

#[path = "../../../tests/man_page.rs"]
mod page;

use clap::CommandFactory;
use farcache_server::options::Options;
use std::path::Path;

/// Sections that no option describes.
const MORE: &str = r#".SH SIGNALS
.TP
SIGTERM, SIGINT, SIGUSR1
Accept no more connections, answer what has arrived, send the replies, and exit with status 0.
.TP
SIGHUP
Read certificates and users anew.
.SH ENVIRONMENT
.TP
MEMCACHED_PORT_FILENAME
File that receives the ports in use.
.TP
MEMCACHED_SASL_PWDB
File with the users for \fB\-S\fR: lines of user:password.
.SH EXIT STATUS
.TP
0
The server was told to end.
.TP
1
An unknown option or sub\-option.
.TP
64
A malformed value.
.TP
67
The user of \fB\-u\fR does not exist.
.TP
71
The system refused a port, a file or memory.
.SH SEE ALSO
.BR memcached (1)
"#;

#[test]
fn the_manual_page_is_up_to_date() {
    page::check("farcached", Options::command(), MORE);
}

#[test]
fn every_option_stands_in_the_document() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    let document = std::fs::read_to_string(document).expect("the document exists");
    for argument in Options::command().get_arguments() {
        let short = argument.get_short().map(|short| format!("`-{short}`"));
        let long = argument.get_long().map(|long| format!("`--{long}`"));
        for name in short.iter().chain(&long) {
            assert!(document.contains(name), "{name} is missing");
        }
    }
}
