//! `recordari source`: what memories rest on.

use clap::Subcommand;

use super::forget;
use super::{Common, Failure, Out};

#[derive(Subcommand)]
pub enum Command {
    /// Forget what rests on a source alone, and keep the source from coming back: forget --source
    #[command(
        after_help = "What another source says too stays, without this one. Exit codes as of recordari forget.\n\nExample:\n  recordari source withdraw chat-7 --reason \"the conversation was deleted\" --dry-run"
    )]
    Withdraw {
        /// The source, as a whole
        #[arg(value_name = "ID")]
        source: String,
        #[command(flatten)]
        how: Box<forget::How>,
    },
}

pub fn run(common: &Common, command: Command, out: &mut Out) -> Result<u8, Failure> {
    let Command::Withdraw { source, how } = command;
    forget::run(common, forget::Arguments::of_source(source, *how), out)
}
