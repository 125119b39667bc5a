//! The manual page is made from the options' own descriptions; this keeps the two together.

#[path = "../../../tests/man_page.rs"]
mod page;

use clap::CommandFactory;
use farcache_cli::options::Options;

/// Sections that no option describes.
const MORE: &str = r#".SH EXAMPLES
The servers of a cluster whose map stands in a file:
.PP
.nf
farcache cluster \-\-file /etc/farcache/map status
.fi
.PP
What it would move to have a fourth server, then to have it:
.PP
.nf
farcache cluster \-\-file /etc/farcache/map add cache\-4:11211 \-\-dry\-run
farcache cluster \-\-file /etc/farcache/map add cache\-4:11211
.fi
.PP
A server is to be switched off, in a cluster that meets in etcd:
.PP
.nf
farcache cluster \-\-etcd etcd\-1:2379,etcd\-2:2379 \-\-name orders drain cache\-2:11211
.fi
.SH EXIT STATUS
.TP
0
Done; with \fBstatus\fR, all servers answer and have this map.
.TP
1
A file, etcd or the terminal failed, or the map cannot be used.
.TP
2
The command line makes no sense.
.TP
3
The change makes no sense in this cluster, or would lose items.
.TP
4
The change was not confirmed.
.TP
5
Somebody else has changed the map meanwhile.
.TP
6
Servers do not answer, have other maps, or do not go on; what was begun stays in the map, and \fBrebalance\fR goes on with it.
.SH SEE ALSO
.BR farcached (1)
"#;

#[test]
fn the_manual_page_is_up_to_date() {
    let command = Options::command();
    let mut sections = String::new();
    for inner in command.get_subcommands() {
        let name = format!("farcache {}", inner.get_name());
        sections += &page::sections_of_subcommands(&name, inner.clone());
    }
    page::check("farcache", command, &(sections + MORE));
}
