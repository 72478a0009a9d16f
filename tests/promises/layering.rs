//! Modules use only modules of an earlier layer. `lib.rs` is exempt because it only re-exports, and
//! `bin/` because it is another crate: the compiler already holds it to the public API.

use std::fs;
use std::path::{Path, PathBuf};

/// In the order in which a memory travels; modules on one line are strangers.
const LAYERS: &[&[&str]] = &[
    &["error", "reason", "broken"],
    &["words"],
    &["clock", "trust"],
    &["namespace"],
    &["record"],
    &["json", "change"],
    &["simd", "text"],
    &["embed"],
    &["gate"],
    &["index", "store"],
    &["relay"],
    &["remember", "recall", "forget"],
    &["memory"],
    &["eval"],
];

#[test]
fn arrows_point_down() {
    for file in sources(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path()) {
        let module = module_of(&file);
        let from = layer(&module).unwrap_or_else(|| panic!("{module} has no layer"));
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for used in paths(line, "crate::").chain(paths(line, "super::")) {
                let sibling = layer(used).is_none() && !line.contains(&format!("crate::{used}"));
                let below = layer(used).is_some_and(|to| to < from);
                assert!(below || sibling || used == module, "{}: {line}", file.display());
            }
        }
    }
}

/// The test must see what it is there to see.
#[test]
fn an_arrow_upward_would_be_caught() {
    assert!(paths("    use crate::memory::Memory;", "crate::").any(|used| layer(used) > layer("store")));
    assert!(paths("let x = crate::{a, b};", "crate::").any(|used| layer(used).is_none()));
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Every name that follows `root` in `line`; empty for a brace, which no layer has.
fn paths<'a>(line: &'a str, root: &'a str) -> impl Iterator<Item = &'a str> {
    line.split(root)
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
}

fn module_of(file: &Path) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let first = file.strip_prefix(source).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| !path.ends_with("src/bin") && !path.ends_with("src/lib.rs"))
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}
