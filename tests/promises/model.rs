//! Random operations against a simple reference model. After each, what can be listed, read and recalled is
//! what the model says, and the store agrees with itself.
//!
//! The cases are the same in every run. `RECORDARI_MODEL_SEED` takes others, `RECORDARI_MODEL_CASES` more;
//! a failure prints the seed and the shortest history that leads to it.

mod operations;
mod reference;
mod run;

use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

const CASES: u32 = 24;
/// No new case is begun after that, unless a number of cases was asked for.
const TIME_BOX: Duration = Duration::from_secs(60);

#[test]
fn any_history_gives_what_the_reference_model_says() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("RECORDARI_MODEL_SEED").unwrap_or(20_260_301);
    let asked_for = number("RECORDARI_MODEL_CASES");
    let config = Config {
        cases: asked_for.map_or(CASES, |cases| cases as u32),
        failure_persistence: None,
        max_shrink_iters: 200,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let started = Instant::now();
    let outcome = runner.run(&operations::history(), |history| {
        if asked_for.is_none() && started.elapsed() > TIME_BOX {
            return Ok(());
        }
        let tried = std::panic::catch_unwind(|| run::run(&history));
        tried.map_err(|panic| {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            TestCaseError::fail(said.unwrap_or_default())
        })
    });
    if let Err(error) = outcome {
        panic!("RECORDARI_MODEL_SEED={seed}: {error}");
    }
}
