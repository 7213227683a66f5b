//! `matsu man`: the manual, in the form that `man` reads.

use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;
use crate::failure::Failure;
use crate::say;

/// `matsu man`
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder, in place of one page for all to standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    match &args.dir {
        Some(dir) => pages(Path::new(dir)).map_err(|fault| {
            Failure::Usage(format!(
                "--dir {dir}: the pages cannot be written: {fault}: it takes a folder"
            ))
        })?,
        None => say::bytes(&page().map_err(|fault| Failure::Service(format!("no manual: {fault}")))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn pages(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(Cli::command(), dir)
}

/// One page: the command, and below it a section for each of its commands.
fn page() -> std::io::Result<Vec<u8>> {
    let mut root = Cli::command();
    root.build();
    let mut page = Vec::new();
    Man::new(root.clone()).render(&mut page)?;
    for command in commands(&root) {
        page.extend(format!(".SH \"{}\"\n", name(command).to_uppercase()).into_bytes());
        // The flags of every command stand at the top of the page.
        let own = command
            .clone()
            .mut_args(|arg| if is_shared(&arg) { arg.hide(true) } else { arg });
        let has_options = own.get_arguments().any(|arg| !arg.is_hide_set());
        let has_more = own.get_after_help().is_some();
        let man = Man::new(own);
        let mut section = Vec::new();
        man.render_synopsis_section(&mut section)?;
        man.render_description_section(&mut section)?;
        if has_options {
            man.render_options_section(&mut section)?;
        }
        if has_more {
            man.render_extra_section(&mut section)?;
        }
        // What are sections of a page are subsections here.
        page.extend(String::from_utf8_lossy(&section).replace(".SH ", ".SS ").into_bytes());
    }
    Ok(page)
}

fn is_shared(arg: &Arg) -> bool {
    arg.is_global_set() || arg.get_id() == "help"
}

/// Every command that can be typed, with those below it.
fn commands(of: &Command) -> Vec<&Command> {
    let visible = of.get_subcommands().filter(|command| !command.is_hide_set());
    visible
        .flat_map(|command| std::iter::once(command).chain(commands(command)))
        .collect()
}

fn name(command: &Command) -> String {
    command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_section_in_the_page() {
        let page = String::from_utf8(page().unwrap()).unwrap();
        let mut root = Cli::command();
        root.build();
        for command in commands(&root) {
            let title = format!(".SH \"{}\"", name(command).to_uppercase());
            assert_eq!(page.matches(&title).count(), 1, "{title}");
        }
        assert_eq!(
            page.matches("\\-\\-endpoint\\-url\\fR").count(),
            2,
            "once in the synopsis, once below it"
        );
        assert!(page.starts_with(".ie") || page.starts_with(".TH"), "{}", &page[..80]);
    }
}
