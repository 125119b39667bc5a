//! The manual page is made from the options' own descriptions; this keeps the two together.

#[path = "../../../tests/man_page.rs"]
mod page;

use clap::CommandFactory;
use farcache_server::options::Options;
use std::path::Path;

/// Sections that no option describes.
const MORE: &str = r#".SH EXAMPLES
A cache of 4 GB for the machines of one network, with metrics for Prometheus:
.PP
.nf
farcached \-u nobody \-l 10.0.0.5 \-m 4g \-\-metrics 10.0.0.5:9150
.fi
.PP
Items that leave memory go to a file of 100 GB, and are there again after a restart:
.PP
.nf
farcached \-m 4g \-\-ssd /var/lib/farcached/ssd:100g
.fi
.PP
Encrypted, for users of a file with lines of user:password:
.PP
.nf
farcached \-Z \-o ssl_chain_cert=cert.pem,ssl_key=key.pem \-Y users
.fi
.PP
Values of up to 64 MB, over the fabric or not at all:
.PP
.nf
farcached \-m 8g \-I 64m \-\-fabric require
.fi
.PP
What lies on an SSD, while no server uses it:
.PP
.nf
farcached \-\-check\-ssd /var/lib/farcached/ssd
.fi
.SH SIGNALS
.TP
SIGTERM, SIGINT, SIGUSR1
Accept no more connections, answer what has arrived, send the replies (within 5 seconds), write what is in memory to the SSD tier
where there is one (within 90 seconds, so a supervisor must wait longer), and exit with status 0.
.TP
SIGHUP
Read certificates and users anew. What cannot be read stays as it was, which the log tells.
.TP
SIGPIPE
Ignored.
.SH ENVIRONMENT
.TP
MEMCACHED_PORT_FILENAME
File that receives the ports in use.
.TP
MEMCACHED_SASL_PWDB
File with the users for \fB\-S\fR: lines of user:password.
.TP
FARCACHE_SHARED_MEMORY
Folder for memory that is shared with clients of its group, which set it too.
.TP
UCX_TLS, UCX_NET_DEVICES, ...
Variables of UCX, which decide what carries the fabric.
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
.BR farcache\-run (1),
.BR farcache\-load (1),
.BR ohb_memlat (1),
.BR farcache (3),
.BR memcached (1),
.BR systemd.service (5)
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
