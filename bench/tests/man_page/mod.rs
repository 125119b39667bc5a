//! Keeps the manual pages of the programs with their options: a page is made from the options' own descriptions.
//!
//! Each program includes this file in its own tests, as nobody else sees its options.

use clap::CommandFactory;
use clap_mangen::Man;
use std::path::Path;

/// What status 1 says where a program says nothing else.
const BROKEN_OFF: &str =
    "Options that do not go together, a server that could not be reached, or a failed operation.";

/// What no option describes.
pub struct More {
    /// How to use the program: lines that a shell takes.
    pub examples: &'static str,
    /// What status 1 says, if that is special.
    pub failure: Option<&'static str>,
    /// Pages of section 1 to read next.
    pub see_also: &'static [&'static str],
}

impl More {
    fn sections(&self) -> String {
        let mut sections = format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", escaped(self.examples));
        sections += ".SH EXIT STATUS\n.TP\n0\nEverything was measured.\n";
        sections += &format!(".TP\n1\n{}\n", escaped(self.failure.unwrap_or(BROKEN_OFF)));
        sections += ".TP\n2\nAn unknown option, or a value that it does not take.\n";
        let page = |page: &&str| format!(".BR {} (1)", escaped(page));
        let pages: Vec<_> = self.see_also.iter().map(page).collect();
        sections + ".SH SEE ALSO\n" + &pages.join(",\n") + "\n"
    }
}

/// A hyphen that is to be copied from the page must be one there.
fn escaped(text: &str) -> String {
    text.replace('-', "\\-").replace('\'', "\\*(Aq")
}

fn render<Options: CommandFactory>(name: &'static str, more: &More) -> String {
    let command = Options::command().name(name);
    let told = command.get_about().expect("described").to_string();
    // Whatever lists pages shows one line of each.
    let line = told.split(". ").next().unwrap_or(&told).to_owned();
    let line = Man::new(command.clone().about(line));
    let man = Man::new(command)
        .title(name)
        .section("1")
        .date("")
        .source("Farcache")
        .manual("Farcache");
    let mut page = Vec::new();
    let write = |page: &mut Vec<u8>| {
        man.render_title(page)?;
        line.render_name_section(page)?;
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)
    };
    write(&mut page).expect("a vector takes everything");
    String::from_utf8(page).expect("text") + &more.sections()
}

/// Compares the page of a program with its options; writes it where `UPDATE_MAN_PAGE` is set.
pub fn check<Options: CommandFactory>(name: &'static str, more: &More) {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/man");
    let path = pages.join(format!("{name}.1"));
    let page = render::<Options>(name, more);
    if std::env::var_os("UPDATE_MAN_PAGE").is_some() {
        std::fs::write(&path, &page).expect("writable");
    }
    let checked_in = std::fs::read_to_string(&path).expect("the page exists");
    assert!(
        checked_in == page,
        "{name}: run this test once with UPDATE_MAN_PAGE=1"
    );
}
