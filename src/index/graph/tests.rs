//! What a graph finds, what it survives, and what it reads back.

use std::fs;

use super::files::{FILES, HEADER};
use super::*;
use crate::error::Error;
use crate::simd::testing::Numbers;

const DIMS: usize = 24;

fn vectors(seed: u64, count: usize) -> Vec<Vec<f32>> {
    let mut numbers = Numbers::new(seed);
    (0..count).map(|_| numbers.floats(DIMS)).collect()
}

fn rows(vectors: &[Vec<f32>]) -> Vec<(u32, &[f32])> {
    (0..).zip(vectors).map(|(number, vector)| (10 * number, vector.as_slice())).collect()
}

fn graph(vectors: &[Vec<f32>]) -> Graph {
    let mut graph = Graph::new("a model", DIMS, vectors.len());
    assert_eq!(graph.insert(&rows(vectors), Pace::AllCores, |_| Go::On), vectors.len());
    graph
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    dot_f32(a, b) / (dot_f32(a, a) * dot_f32(b, b)).sqrt()
}

fn exact(vectors: &[Vec<f32>], query: &[f32], most: usize, allowed: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut all: Vec<(u32, f32)> = rows(vectors)
        .into_iter()
        .filter(|(number, _)| allowed(*number))
        .map(|(number, vector)| (number, cosine(query, vector)))
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.into_iter().take(most).map(|(number, _)| number).collect()
}

#[test]
fn most_of_the_nearest_are_found_with_their_cosines_and_a_filter_holds() {
    let all = vectors(1, 1500);
    let graph = graph(&all);
    let (mut hits, mut of) = (0, 0);
    for query in vectors(2, 20) {
        for share in [1, 2, 10, 100] {
            let allowed = |number: u32| (number / 10).is_multiple_of(share);
            let filter: Option<&dyn Fn(u32) -> bool> = if share == 1 { None } else { Some(&allowed) };
            let found = graph.nearest(&query, 10, 128, filter);
            assert!(found.len() <= 10 && found.is_sorted_by(|a, b| a.1 >= b.1 && a.0 != b.0));
            for (number, near) in &found {
                assert!(allowed(*number));
                assert!((near - cosine(&query, &all[*number as usize / 10])).abs() < 1e-5);
            }
            let want = exact(&all, &query, 10, allowed);
            hits += want.iter().filter(|want| found.iter().any(|(number, _)| number == *want)).count();
            of += want.len();
        }
    }
    assert!(hits * 100 >= of * 95, "{hits} of {of}");
}

#[test]
fn a_filter_that_few_or_no_rows_pass_is_no_trouble() {
    let all = vectors(3, 600);
    let graph = graph(&all);
    for query in vectors(4, 40) {
        for breadth in [0, 1, 2, 64] {
            for only in [0u32, 10, 2990, 5990] {
                let found = graph.nearest(&query, 5, breadth, Some(&|number| number == only));
                assert!(found.iter().all(|(number, _)| *number == only) && found.len() <= 1);
            }
            assert!(graph.nearest(&query, 5, breadth, Some(&|_| false)).is_empty());
            assert_eq!(graph.nearest(&query, 1, breadth, Some(&|_| true)).len(), 1);
        }
    }
}

#[test]
fn what_is_no_vector_is_left_out_and_finds_nothing() {
    let mut graph = Graph::new("a model", 2, 4);
    assert!(graph.nearest(&[1.0, 0.0], 3, 8, None).is_empty());
    let rows: [(u32, &[f32]); 7] = [
        (1, &[3.0, 0.0]),
        (2, &[0.0, 0.0]),
        (3, &[f32::NAN, 1.0]),
        (4, &[f32::INFINITY, 1.0]),
        (5, &[1.0]),
        (1, &[0.0, 1.0]),
        (6, &[0.0, -2.0]),
    ];
    assert_eq!(graph.insert(&rows, Pace::AllCores, |_| Go::On), 2);
    assert!(graph.has(1) && graph.has(6) && !graph.has(2) && graph.rows() == 2);
    assert_eq!(graph.nearest(&[7.0, 0.0], 3, 8, None)[0], (1, 1.0));
    for query in [&[0.0, 0.0][..], &[f32::NAN, 0.0], &[1.0], &[]] {
        assert!(graph.nearest(query, 3, 8, None).is_empty());
    }
    assert!(graph.nearest(&[1.0, 0.0], 0, 8, None).is_empty());
}

#[test]
fn work_is_watched_and_can_be_stopped_and_gone_on_with() {
    let all = vectors(5, 1000);
    let mut graph = Graph::new("a model", DIMS, 1000);
    let mut told = Vec::new();
    let stop = |done| {
        told.push(done);
        if told.len() == 2 { Go::Stop } else { Go::On }
    };
    assert_eq!(graph.insert(&rows(&all), Pace::OneCore, stop), 512);
    assert_eq!(told, [256, 512]);
    assert_eq!(graph.insert(&rows(&all), Pace::AllCores, |_| Go::On), 488, "the rest");
    assert_eq!(graph.rows(), 1000);
    assert_eq!(graph.nearest(&all[999], 1, 64, None)[0].0, 9990);
}

#[test]
fn what_was_saved_is_read_back_and_can_grow_and_be_saved_again() {
    let folder = tempfile::tempdir().unwrap();
    let all = vectors(7, 700);
    let mut first = graph(&all[..500]);
    first.set_note(b"of a user".to_vec());
    first.save(folder.path()).unwrap();
    let mut second = Graph::load(folder.path(), "a model", DIMS).unwrap();
    assert_eq!((second.rows(), second.note()), (500, &b"of a user"[..]));
    for query in vectors(8, 10) {
        assert_eq!(second.nearest(&query, 10, 64, None), first.nearest(&query, 10, 64, None));
    }
    assert_eq!(second.insert(&rows(&all), Pace::AllCores, |_| Go::On), 200);
    second.save(folder.path()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    let third = Graph::load(folder.path(), "a model", DIMS).unwrap();
    assert_eq!(third.nearest(&all[650], 1, 64, None)[0].0, 6500);
    let empty = Graph::new("a model", DIMS, 0);
    empty.save(folder.path()).unwrap();
    assert_eq!(Graph::load(folder.path(), "a model", DIMS).unwrap().rows(), 0);
    erase(folder.path()).unwrap();
    erase(folder.path()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_foreign_or_damaged_graph_is_an_error_and_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let load = || Graph::load(folder.path(), "a model", DIMS);
    assert!(matches!(load(), Err(Error::Io { .. })));
    graph(&vectors(9, 60)).save(folder.path()).unwrap();
    assert!(load().is_ok());
    for (model, dims) in [("another", DIMS), ("a model", DIMS + 1), ("a model", 0), ("", DIMS)] {
        assert!(matches!(Graph::load(folder.path(), model, dims), Err(Error::Index(_))));
    }
    for name in [HEADER, FILES[0], FILES[1]] {
        let path = folder.path().join(name);
        let sound = fs::read(&path).unwrap();
        let step = (sound.len() / 60).max(1);
        for at in (0..sound.len()).step_by(step).chain([sound.len() - 1]) {
            let mut flipped = sound.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(&path, flipped).unwrap();
            assert!(matches!(load(), Err(Error::Index(_))), "{name}, byte {at}");
            fs::write(&path, &sound[..at]).unwrap();
            assert!(matches!(load(), Err(Error::Index(_))), "{name}, {at} bytes");
        }
        fs::write(&path, [&sound[..], &[0]].concat()).unwrap();
        assert!(matches!(load(), Err(Error::Index(_))), "{name}, one byte more");
        fs::remove_file(&path).unwrap();
        assert!(matches!(load(), Err(Error::Io { .. })), "{name} is gone");
        fs::write(&path, &sound).unwrap();
        assert!(load().is_ok());
    }
}
