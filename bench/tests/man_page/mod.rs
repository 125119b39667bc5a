//! Keeps the manual pages of the programs with their options.
//!
//! Each program includes this file in its own tests, as nobody else sees its options.

#[path = "../../../tests/man_page.rs"]
mod page;

use clap::CommandFactory;

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

/// Compares the page of a program with its options; writes it where `UPDATE_MAN_PAGE` is set.
pub fn check<Options: CommandFactory>(name: &'static str, more: &More) {
    page::check(name, Options::command().name(name), &more.sections());
}
