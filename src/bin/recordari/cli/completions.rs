//! `recordari completions SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Failure, Out};

#[derive(Args)]
#[command(
    after_help = "Example:\n  recordari completions bash > ~/.local/share/bash-completion/completions/recordari"
)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

pub fn run(arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    // Into memory first: the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "recordari", &mut script);
    out.raw(&script)?;
    Ok(0)
}
