//! The manual page is made from the options' own descriptions; this keeps the two together.

use clap::CommandFactory;
use clap_mangen::Man;
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

fn render() -> String {
    let man = Man::new(Options::command())
        .title("farcached")
        .section("1")
        .date("")
        .source("Farcache")
        .manual("Farcache");
    let mut page = Vec::new();
    let write = |page: &mut Vec<u8>| {
        man.render_title(page)?;
        man.render_name_section(page)?;
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)
    };
    write(&mut page).expect("a vector takes everything");
    String::from_utf8(page).expect("text") + MORE
}

#[test]
fn the_manual_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man/farcached.1");
    let page = render();
    if std::env::var_os("UPDATE_MAN_PAGE").is_some() {
        std::fs::write(&path, &page).expect("writable");
    }
    let checked_in = std::fs::read_to_string(&path).expect("the page exists");
    assert!(
        checked_in == page,
        "run this test once with UPDATE_MAN_PAGE=1"
    );
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
