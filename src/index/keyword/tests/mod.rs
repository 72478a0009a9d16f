//! Promises of the keyword index, through its public face.

mod changes;
mod damage;
mod erasure;
mod processes;

use std::collections::BTreeMap;
use std::path::Path;

use super::*;

const HOME: Partition = Partition { namespace: 1, class: 0 };

fn add(doc: u64, partition: Partition, text: &str) -> Entry {
    Entry::Add { doc, partition, terms: text.split_whitespace().map(str::to_owned).collect() }
}

fn write(folder: &Path, watermark: u64, entries: Vec<Entry>) {
    let mut writer = Writer::open(folder).unwrap().unwrap();
    writer.apply(entries).unwrap();
    writer.commit(watermark, 0).unwrap();
}

fn open(folder: &Path) -> KeywordIndex {
    KeywordIndex::open(folder).unwrap().index
}

/// Documents and frequencies, by document.
fn postings(view: &View, partition: Partition, term: &str) -> BTreeMap<u64, u32> {
    let mut found = BTreeMap::new();
    view.words_of(partition.namespace, |word, doc, frequency| {
        if word == term.as_bytes() {
            assert_eq!(found.insert(doc, frequency), None, "a document came twice");
        }
    })
    .unwrap();
    found
}
