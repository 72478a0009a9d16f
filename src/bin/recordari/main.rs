//! The `recordari` command: reads the arguments, runs one command, and turns its end into an exit code.
//! A guest of the library: it sees the public names only.

mod cli;
mod interrupt;
mod lazy;
mod settings;
mod wire;

use std::process::ExitCode;

use cli::{Cli, Failure, Out};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    let mut out = Out::new(cli.common.json);
    let ended = cli.run(&mut out).and_then(|code| out.flush().map(|()| code));
    match ended {
        Ok(code) => ExitCode::from(code),
        // Whoever read the output has had enough: that is no failure.
        Err(Failure::Pipe) => ExitCode::SUCCESS,
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(wire::exit_code(failure.kind()))
        }
    }
}
