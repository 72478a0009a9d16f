//! Random operations against a simple reference model. After each, what can be listed, read and recalled is
//! what the model says, and the store agrees with itself.
//!
//! The cases are the same in every run. `RECORDARI_MODEL_SEED` takes others, `RECORDARI_MODEL_CASES` more;
//! a failure prints the seed and the shortest history that leads to it, and is kept in `model/regressions`, which
//! every run tries first.

mod operations;
mod reference;
mod run;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};

use operations::Operation;

const CASES: u32 = 24;
/// No new case is begun after that, unless a number of cases was asked for.
const TIME_BOX: Duration = Duration::from_secs(60);
/// The histories that once failed.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/promises/model/regressions");

/// Tries the histories that are kept, then so many of a seed. One that fails is kept.
fn explore(
    kept: &'static str,
    seed: u64,
    cases: u32,
    test: impl Fn(Vec<Operation>) -> Result<(), TestCaseError>,
) -> Result<(), TestError<Vec<Operation>>> {
    let config = Config {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept))),
        max_shrink_iters: 200,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    runner.run(&operations::history(), test)
}

#[test]
fn any_history_gives_what_the_reference_model_says() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("RECORDARI_MODEL_SEED").unwrap_or(20_260_301);
    let asked_for = number("RECORDARI_MODEL_CASES");
    let cases = asked_for.map_or(CASES, |cases| cases as u32);
    let started = Instant::now();
    let outcome = explore(KEPT, seed, cases, |history| {
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
        panic!("RECORDARI_MODEL_SEED={seed}, kept in {KEPT}: {error}");
    }
}

#[test]
fn a_history_that_failed_is_kept_and_tried_first_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let kept: &'static str = folder.path().join("regressions").display().to_string().leak();
    // A fault that few histories meet.
    let fails = |history: &[Operation]| history.iter().any(|one| matches!(one, Operation::DropDerived));
    let tried = Mutex::new(Vec::new());
    let run = |seed: u64, cases: u32, is_mended: bool| {
        tried.lock().unwrap().clear();
        explore(kept, seed, cases, |history| {
            tried.lock().unwrap().push(format!("{history:?}"));
            match fails(&history) && !is_mended {
                true => Err(TestCaseError::fail("lost")),
                false => Ok(()),
            }
        })
    };
    assert!(matches!(run(7, 1000, false), Err(TestError::Fail(..))));
    let failed = tried.lock().unwrap().iter().find(|history| history.contains("DropDerived")).cloned();
    assert!(std::fs::read_to_string(kept).unwrap().contains("\ncc "));
    // Found again at once, by whatever seed, and tried beside the others when it is mended.
    assert!(matches!(run(8, 1, false), Err(TestError::Fail(..))));
    assert_eq!(tried.lock().unwrap().first(), failed.as_ref());
    run(8, 5, true).unwrap();
    let tried = tried.into_inner().unwrap();
    assert_eq!((tried.len(), tried.first()), (6, failed.as_ref()));
}
