//! What a document says is held by a test is held by a test of that name.

use std::fs;
use std::path::{Path, PathBuf};

/// The words between backticks that are paths of tests.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || "_:0123456789".contains(c))
    };
    let is_test = |word: &&str| word.contains("::") || word.matches('_').count() >= 3;
    quoted.filter(is_path).filter(is_test).map(str::to_owned).collect()
}

/// Whether a path of modules, and perhaps a test at its end, is there.
fn exists(root: &Path, path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let module = |parts: &[&str]| -> Option<PathBuf> {
        let base = parts.iter().fold(root.to_owned(), |base, part| base.join(part));
        [base.with_extension("rs"), base.join("mod.rs")].into_iter().find(|file| file.is_file())
    };
    if module(&parts).is_some() {
        return true;
    }
    let Some((test, modules)) = parts.split_last() else { return false };
    let has =
        |file: PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("fn {test}(")));
    module(modules).is_some_and(has)
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text: String = ["docs/DELETION.md", "docs/DURABILITY.md", "docs/ENCRYPTION.md"]
        .map(|document| fs::read_to_string(root.join(document)).unwrap())
        .concat();
    let names = named(&text);
    assert!(names.len() >= 10, "{names:?}");
    // A test elsewhere is named with its file beside.
    let elsewhere = [
        "src/bin/recordari/cli/receipt.rs",
        "src/memory/tests.rs",
        "tests/doors/doctor.rs",
        "tests/doors/encrypted.rs",
        "tests/doors/formats.rs",
    ]
    .map(|file| (file, fs::read_to_string(root.join(file)).unwrap()));
    for name in names {
        let is_elsewhere =
            |(file, code): &(&str, String)| text.contains(file) && code.contains(&format!("fn {name}("));
        let is_there = exists(&root.join("tests/promises"), &name) || elsewhere.iter().any(is_elsewhere);
        assert!(is_there, "{name} is no test");
    }
    assert!(!exists(&root.join("tests/promises"), "leases::no_such_test"));
}
