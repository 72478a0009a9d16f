//! `recordari demo`: four days of a memory, for real, in a temporary store. Every claim is checked when it
//! is made; one that does not hold makes the command fail.

mod bytes;
mod days;
mod stage;
mod words;

use clap::{Args, ValueEnum};

use super::{Failure, Out};
use stage::Stage;

#[derive(Args)]
#[command(
    after_help = "Exit code 1 when anything does not come out as told.\n\nExamples:\n  recordari demo\n  recordari demo --lang zh"
)]
pub struct Arguments {
    /// The language of the story and of its memories
    #[arg(long, value_enum, default_value_t = Lang::En)]
    lang: Lang,
}

#[derive(Clone, Copy, ValueEnum)]
enum Lang {
    /// English
    En,
    /// Chinese
    Zh,
}

pub fn run(arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let words = match arguments.lang {
        Lang::En => &words::ENGLISH,
        Lang::Zh => &words::CHINESE,
    };
    let mut stage = Stage::open(words, out)?;
    stage.tell("", words.opening)?;
    days::first(&mut stage)?;
    days::second(&mut stage)?;
    days::third(&mut stage)?;
    days::fourth(&mut stage)?;
    stage.close()
}
