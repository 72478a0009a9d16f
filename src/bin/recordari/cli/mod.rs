//! The command line: which commands there are and what is common to all. One file per command.

mod backup;
mod bench;
mod completions;
mod correct;
mod demo;
mod doctor;
mod eval;
mod export;
mod filters;
mod forget;
mod get;
mod history;
mod import;
mod init;
mod jobs;
mod list;
mod model;
mod open;
mod out;
mod place;
mod policy;
mod probe;
mod reason;
mod rebuild;
mod recall;
mod receipt;
mod reembed;
mod remember;
mod restore;
mod review;
mod show;
mod source;
mod stats;
mod svg;
mod trace;
mod values;
mod verify;
mod why;
mod words;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use recordari::{ErrorKind, Sensitivity};

pub use out::{Failure, Out};

use crate::wire;

/// Long-term memory for AI agents that can be governed: remember, recall, correct and forget, explained
/// and proved.
#[derive(Parser)]
#[command(
    name = "recordari",
    version,
    propagate_version = true,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "Start with:\n  recordari demo\n  recordari remember \"prefers Python in code examples\"\n  recordari recall \"which language for examples?\""
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Args, Clone)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// The folder of the store; what writes makes it when it is missing
    #[arg(long, global = true, value_name = "DIR", env = "RECORDARI_STORE", hide_env_values = true)]
    pub store: Option<PathBuf>,
    /// The file with the key of an encrypted store, outside of the store's folder; `none`: it is not encrypted
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "RECORDARI_CIPHER_KEY_FILE",
        hide_env_values = true,
        value_parser = values::key_file()
    )]
    pub cipher_key_file: Option<PathBuf>,
    /// The tenant who asks [default: local]
    #[arg(long, global = true, value_name = "NAME", env = "RECORDARI_TENANT", hide_env_values = true)]
    pub tenant: Option<String>,
    /// The user who asks [default: the login name]
    #[arg(long, global = true, value_name = "NAME", env = "RECORDARI_USER", hide_env_values = true)]
    pub user: Option<String>,
    /// Ask for the tenant as a whole, as no user
    #[arg(long, global = true, conflicts_with = "user")]
    pub no_user: bool,
    /// See, and write to, what lives below too: all projects of the user, all users of the tenant
    #[arg(long, global = true)]
    pub below: bool,
    /// The project in which is asked
    #[arg(long, global = true, value_name = "NAME", env = "RECORDARI_PROJECT", hide_env_values = true)]
    pub project: Option<String>,
    /// The agent that asks
    #[arg(long, global = true, value_name = "NAME", env = "RECORDARI_AGENT", hide_env_values = true)]
    pub agent: Option<String>,
    /// The most sensitive memories to read and write [default: internal]
    #[arg(long, global = true, value_name = "LEVEL", env = "RECORDARI_CLEARANCE", hide_env_values = true,
          value_parser = values::word(Sensitivity::ALL, Sensitivity::code))]
    pub clearance: Option<Sensitivity>,
    /// The policy file [default: policy.toml in the store, or the defaults]
    #[arg(long, global = true, value_name = "FILE", env = "RECORDARI_POLICY", hide_env_values = true)]
    pub policy: Option<PathBuf>,
    /// The embedding model: `embedded`, a folder, http://host/v1#name, or `none` to search by keyword alone
    #[arg(long, global = true, value_name = "MODEL", env = "RECORDARI_MODEL", hide_env_values = true)]
    pub model: Option<String>,
    /// Answer in JSON: one object, or one object a line for lists
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Show what this is about, in a temporary store
    Demo(demo::Arguments),
    /// Create a store and write its settings down
    Init(init::Arguments),
    /// Remember something
    Remember(remember::Arguments),
    /// Remember many things from a file
    Import(import::Arguments),
    /// Write every memory in force out, for import
    Export(export::Arguments),
    /// Find what is remembered about something
    Recall(recall::Arguments),
    /// Show one memory by its id
    Get(get::Arguments),
    /// List memories, newest first
    List(list::Arguments),
    /// Show what a memory said over time
    History(history::Arguments),
    /// Put a new version of a memory in force
    Correct(correct::Arguments),
    /// Forget memories for good, with a receipt
    Forget(forget::Arguments),
    /// Withdraw what memories rest on
    #[command(
        subcommand,
        after_help = "Example:\n  recordari source withdraw chat-7 --reason \"the conversation was deleted\""
    )]
    Source(source::Command),
    /// See how far deletions have come
    Jobs(jobs::Arguments),
    /// Print or check the receipt of a deletion
    #[command(
        subcommand,
        after_help = "Example:\n  recordari forget --subject lunch --json > receipt.json\n  recordari receipt verify receipt.json"
    )]
    Receipt(receipt::Command),
    /// Look for what was forgotten in every file, every answer and whatever else is left
    Probe(probe::Arguments),
    /// See what waits for a person
    #[command(subcommand, after_help = "Example:\n  recordari review list")]
    Review(review::Command),
    /// See or check the policy
    #[command(subcommand, after_help = "Example:\n  recordari policy show > policy.toml")]
    Policy(policy::Command),
    /// Copy the store to keep it elsewhere
    Backup(backup::Arguments),
    /// Make a store of a backup, with everything forgotten that was forgotten since
    Restore(restore::Arguments),
    /// Build everything derived anew
    Rebuild(rebuild::Arguments),
    /// Give every memory a vector of the model in use
    Reembed(reembed::Arguments),
    /// Check that the store agrees with itself
    Verify(verify::Arguments),
    /// Mend what does not agree, as far as it can be mended
    Doctor(doctor::Arguments),
    /// See how an answer or a write came about
    #[command(subcommand, after_help = "Example:\n  recordari trace list --limit 5")]
    Trace(trace::Command),
    /// Say why a record was returned for a query, or not
    Why(why::Arguments),
    /// Say what a reason code means and what to do
    Reason(reason::Arguments),
    /// Count what is there
    Stats(stats::Arguments),
    /// See which embedding model is used
    #[command(subcommand, after_help = "Example:\n  recordari model show")]
    Model(model::Command),
    /// Measure recall on evaluation sets
    Eval(eval::Arguments),
    /// Measure speed on a workload of given vectors
    Bench(bench::Arguments),
    /// Write a completion script for a shell
    Completions(completions::Arguments),
}

impl Cli {
    /// Reads the arguments. An error is an exit code: 0 after help was shown, 2 for wrong use.
    pub fn read() -> Result<Cli, u8> {
        let words = words::with_texts_apart(std::env::args_os().collect());
        let mut error = match Cli::try_parse_from(words) {
            Ok(cli) => return Ok(cli),
            Err(error) => error,
        };
        if !error.use_stderr() {
            // A closed pipe does not make help a failure.
            let _ = error.print();
            return Err(0);
        }
        words::hide_texts(&mut error);
        let _ = error.print();
        if std::env::args_os().any(|argument| argument == "--json") {
            let message = words::message(&error);
            let mut out = Out::new(true);
            let _ = out.json(&wire::error(ErrorKind::Caller, &message)).and_then(|()| out.flush());
        }
        Err(wire::exit_code(ErrorKind::Caller))
    }

    /// Runs the command; its exit code.
    pub fn run(self, out: &mut Out) -> Result<u8, Failure> {
        let common = &self.common;
        match self.command {
            Command::Demo(arguments) => demo::run(arguments, out),
            Command::Init(arguments) => init::run(common, arguments, out),
            Command::Remember(arguments) => remember::run(common, arguments, out),
            Command::Import(arguments) => import::run(common, arguments, out),
            Command::Export(arguments) => export::run(common, arguments, out),
            Command::Recall(arguments) => recall::run(common, arguments, out),
            Command::Get(arguments) => get::run(common, arguments, out),
            Command::List(arguments) => list::run(common, arguments, out),
            Command::History(arguments) => history::run(common, arguments, out),
            Command::Correct(arguments) => correct::run(common, arguments, out),
            Command::Forget(arguments) => forget::run(common, arguments, out),
            Command::Source(command) => source::run(common, command, out),
            Command::Jobs(arguments) => jobs::run(common, arguments, out),
            Command::Receipt(command) => receipt::run(common, command, out),
            Command::Probe(arguments) => probe::run(common, arguments, out),
            Command::Review(command) => review::run(common, command, out),
            Command::Policy(command) => policy::run(common, command, out),
            Command::Backup(arguments) => backup::run(common, arguments, out),
            Command::Restore(arguments) => restore::run(common, arguments, out),
            Command::Rebuild(arguments) => rebuild::run(common, arguments, out),
            Command::Reembed(arguments) => reembed::run(common, arguments, out),
            Command::Verify(arguments) => verify::run(common, arguments, out),
            Command::Doctor(arguments) => doctor::run(common, arguments, out),
            Command::Trace(command) => trace::run(common, command, out),
            Command::Why(arguments) => why::run(common, arguments, out),
            Command::Reason(arguments) => reason::run(arguments, out),
            Command::Stats(arguments) => stats::run(common, arguments, out),
            Command::Model(command) => model::run(common, command, out),
            Command::Eval(arguments) => eval::run(common, arguments, out),
            Command::Bench(arguments) => bench::run(common, arguments, out),
            Command::Completions(arguments) => completions::run(arguments, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    /// All commands, groups of them included.
    fn commands() -> Vec<clap::Command> {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        let mut left: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        let mut all = Vec::new();
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands().cloned());
            all.push(command);
        }
        all
    }

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_an_example() {
        for command in commands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("recordari "), "{} has no example", command.get_name());
        }
    }

    #[test]
    fn short_options_are_flags() {
        for command in commands() {
            let mut short = command.get_arguments().filter(|argument| argument.get_short().is_some());
            assert!(short.all(|argument| !argument.get_action().takes_values()), "{}", command.get_name());
        }
    }
}
