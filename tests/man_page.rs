//! Makes a program's manual page from its options' own descriptions, and keeps the two together.

use clap::{Arg, Command};
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Compares a page in `docs/man` with the options of its program, behind which stand sections that
/// no option describes; writes it where `UPDATE_MAN_PAGE` is set.
pub fn check(name: &'static str, command: Command, sections: &str) {
    let path = pages().join(format!("{name}.1"));
    let page = render(name, command, sections);
    if std::env::var_os("UPDATE_MAN_PAGE").is_some() {
        std::fs::write(&path, &page).expect("writable");
    }
    let checked_in = std::fs::read_to_string(&path).expect("the page exists");
    assert!(
        checked_in == page,
        "{name}: run this test once with UPDATE_MAN_PAGE=1"
    );
}

/// Sections for what is below a command: each subcommand with its synopsis and options, the options
/// that it shares with all of them only once, at `command` itself.
#[allow(dead_code)] // Few programs have subcommands.
pub fn sections_of_subcommands(name: &str, mut command: Command) -> String {
    command.build();
    let mut text = section(name, &command);
    for inner in command
        .get_subcommands()
        .filter(|it| it.get_name() != "help")
    {
        let name = format!("{name} {}", inner.get_name());
        text += &section(&name, inner);
    }
    text
}

/// What a command does, and its options.
fn section(name: &str, command: &Command) -> String {
    let man = Man::new(command.clone());
    let mut rendered = Vec::new();
    let written = man
        .render_description_section(&mut rendered)
        .and_then(|()| man.render_options_section(&mut rendered));
    written.expect("a vector takes everything");
    let rendered = String::from_utf8(rendered).expect("text");
    let rendered = rendered
        .replace(".SH DESCRIPTION\n", "")
        .replace(".SH OPTIONS\n", "");
    let operands = command.get_positionals().map(|operand| {
        let names = operand.get_value_names().unwrap_or_default();
        let names = names
            .iter()
            .map(|name| format!(" \\fI{}\\fR", name.replace('-', "\\-")));
        names.collect::<String>()
    });
    let operands: String = operands.collect();
    let operands = operands + inner(command);
    let title = name.to_uppercase();
    format!(".SH \"{title}\"\n\\fB{name}\\fR [\\fIoptions\\fR]{operands}\n.PP\n{rendered}")
}

fn pages() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut pages = folders.map(|folder| folder.join("docs/man"));
    pages.find(|pages| pages.is_dir()).expect("in the project")
}

fn render(name: &'static str, command: Command, sections: &str) -> String {
    let told = command.get_about().expect("described").to_string();
    // Whatever lists pages shows one line of each.
    let line = told.split(". ").next().unwrap_or(&told).to_owned();
    let line = Man::new(command.clone().about(line));
    let synopsis = synopsis(name, command.clone());
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
        page.extend_from_slice(synopsis.as_bytes());
        man.render_description_section(page)?;
        man.render_options_section(page)
    };
    write(&mut page).expect("a vector takes everything");
    String::from_utf8(page).expect("text") + sections
}

/// The command line, with the options' values.
fn synopsis(name: &str, mut command: Command) -> String {
    // Adds help and version.
    command.build();
    let options = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let options: Vec<_> = options
        .map(|option| format!("[{}]", shown(option)))
        .collect();
    let name = name.replace('-', "\\-");
    let inner = inner(&command);
    format!(
        ".SH SYNOPSIS\n\\fB{name}\\fR {}{inner}\n",
        options.join(" ")
    )
}

/// What stands for a command's subcommands, where it has some.
fn inner(command: &Command) -> &'static str {
    match command.has_subcommands() {
        true => " \\fIcommand\\fR",
        false => "",
    }
}

/// An option as one may give it: its short name, or else its long one, and its value.
fn shown(option: &Arg) -> String {
    let name = match (option.get_short(), option.get_long()) {
        (Some(short), _) => format!("\\-{short}"),
        (None, long) => format!("\\-\\-{}", long.unwrap_or_default().replace('-', "\\-")),
    };
    let values = option.get_value_names().unwrap_or_default();
    let takes_values = option.get_action().takes_values();
    let values = values.iter().filter(|_| takes_values);
    let values: String = values
        .map(|value| format!(" \\fI{}\\fR", value.replace('-', "\\-")))
        .collect();
    format!("\\fB{name}\\fR{values}")
}
