//! Every plan against the comparison of all in full.

use std::sync::Arc;

use super::search::Weighed;
use super::*;
use crate::change::DocId;
use crate::index::sketch::Among;
use crate::simd::pack;

const DIMS: usize = 96;

/// Vectors of unit length that are no regular pattern.
fn vectors(count: usize) -> Vec<Vec<f32>> {
    let mut state = 7u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count)
        .map(|_| {
            let mut vector: Vec<f32> = (0..DIMS).map(|_| number()).collect();
            let length = dot_f32(&vector, &vector).sqrt();
            vector.iter_mut().for_each(|x| *x /= length);
            vector
        })
        .collect()
}

fn packed(vector: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack(vector, &mut bytes);
    bytes
}

fn block(vectors: &[Vec<f32>], all_full: bool) -> VectorBlock {
    let mut block = VectorBlock::new(1, DIMS, all_full);
    vectors.iter().enumerate().for_each(|(slot, vector)| block.push(slot as u32, &packed(vector)));
    block.settle();
    block
}

/// A search by meaning alone.
fn search(block: &VectorBlock, query: &[f32], allowed: &[bool], wanted: usize) -> Seen {
    let (words, named) = (vec![0.0; allowed.len()], vec![false; allowed.len()]);
    let allowed_count = allowed.iter().filter(|allowed| **allowed).count();
    let worth = Worth { from: 0.0, upto: 1.0, words: 0.5, name: 1.0 };
    block.search(&Asked {
        query,
        allowed,
        allowed_count,
        wanted,
        words: &words,
        named: &named,
        worth,
        graph: None,
        exact: false,
    })
}

#[test]
fn many_rows_are_rounded_and_no_cosine_is_off_by_more_than_said() {
    let all = vectors(FULL_ROWS + 600);
    // So few that scanning them takes less than the sketch.
    let allowed: Vec<bool> = (0..all.len()).map(|slot| slot % 7 == 3).collect();
    let (full, rounded) = (block(&all, true), block(&all, false));
    assert!(full.is_full() && !rounded.is_full());
    assert_eq!(rounded.exact(&all[0], 0), None);
    for query in vectors(40).iter().skip(30) {
        let exact = search(&full, query, &allowed, 10);
        let near = search(&rounded, query, &allowed, 10);
        assert_eq!((exact.slack, exact.how, near.how), (0.0, How::Exact, How::Scan));
        let (exact, near, slack) = (exact.cosines, near.cosines, near.slack);
        assert!(slack > 0.0 && slack < 0.02, "{slack}");
        for (slot, (exact, near)) in exact.iter().zip(&near).enumerate() {
            assert_eq!(*exact == NONE, !allowed[slot]);
            assert!(!allowed[slot] || (exact - near).abs() <= slack, "{slot} {exact} {near} {slack}");
        }
    }
}

#[test]
fn rows_in_any_order_are_sorted_and_blanked_by_slot() {
    for count in [6, FULL_ROWS + 6] {
        let all = vectors(count);
        let mut block = VectorBlock::new(1, DIMS, false);
        for slot in (0..count).rev() {
            block.push(slot as u32, &packed(&all[slot]));
            block.push(slot as u32, &packed(&all[(slot + 1) % count]));
        }
        block.settle();
        assert!(block.owners().is_sorted() && block.has(5) && !block.has(count));
        let allowed: Vec<bool> = (0..count).map(|slot| slot < 100).collect();
        let Seen { cosines: best, slack, .. } = search(&block, &all[5], &allowed, 10);
        assert!((best[5] - 1.0).abs() <= slack + 1e-5 && (best[4] - 1.0).abs() <= slack + 1e-5);
        block.blank(&[5]);
        assert_eq!(search(&block, &all[5], &allowed, 10).cosines[5], 0.0);
    }
}

#[test]
fn what_is_compared_in_full_is_the_same_from_memory_and_from_the_store() {
    let all = vectors(90);
    let (some, full) = (block(&all, false), block(&all, true));
    let allowed = vec![true; all.len()];
    let query = &vectors(100)[95];
    let scanned = search(&full, query, &allowed, 10).cosines;
    let mut buffer = Vec::new();
    for (slot, vector) in all.iter().enumerate() {
        let bytes = packed(vector);
        let stored = Packed::all(&bytes, DIMS).unwrap().next().unwrap();
        let want = stored.dot(query, &mut buffer);
        assert_eq!(some.exact(query, slot).unwrap().to_bits(), want.to_bits());
        assert_eq!(scanned[slot].to_bits(), want.to_bits());
        assert_eq!(some.first(slot).unwrap(), stored.numbers());
    }
    assert_eq!((some.exact(query, 90), some.first(90)), (Some(NONE), None));
}

/// The slots of the ten best cosines.
fn ten(cosines: &[f32]) -> Vec<usize> {
    let mut slots: Vec<usize> = (0..cosines.len()).filter(|slot| cosines[*slot] != NONE).collect();
    slots.sort_by(|a, b| cosines[*b].total_cmp(&cosines[*a]).then(a.cmp(b)));
    slots.truncate(10);
    slots
}

#[test]
fn every_plan_finds_what_comparing_all_in_full_finds() {
    let count = 20_000;
    let all = vectors(count);
    let (quick, full) = (block(&all, false), block(&all, true));
    let mut seen = std::collections::BTreeSet::new();
    let (mut hits, mut of) = (0, 0);
    for (number, query) in vectors(count + 18).iter().skip(count).enumerate() {
        // From one row to all.
        for every in [count, 5_000, 1_000, 37, 4, 2, 1] {
            let allowed: Vec<bool> = (0..count).map(|slot| slot % every == number % every).collect();
            let (exact, found) = (search(&full, query, &allowed, 60), search(&quick, query, &allowed, 60));
            seen.insert(found.how.code());
            let wanted = ten(&exact.cosines);
            let got = ten(&found.cosines);
            assert_eq!(wanted.len(), got.len(), "never fewer: {every} {:?}", found.how);
            assert!(got.iter().all(|slot| allowed[*slot]));
            // By bytes two that are nearly as near may change places at the edge.
            let last = exact.cosines[*wanted.last().unwrap()] - 2.0 * found.slack;
            hits += got.iter().filter(|slot| exact.cosines[**slot] >= last).count();
            of += got.len();
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["scan", "sketch"]);
    assert!(hits * 1000 >= of * 999, "{hits} of {of}");
}

#[test]
fn what_words_have_found_is_looked_at_as_far_as_it_can_count() {
    let count = 12_000;
    let all = vectors(count);
    let block = block(&all, false);
    let allowed = vec![true; count];
    let mut far: Vec<usize> = (0..count).filter(|slot| dot_f32(&all[*slot], &all[0]) < -0.1).collect();
    let (much, little) = (far.split_off(far.len() - 40), far);
    assert!(little.len() > 300, "{}", little.len());
    let (mut words, mut named) = (vec![0.0; count], vec![false; count]);
    much.iter().for_each(|slot| words[*slot] = 0.9);
    little.iter().for_each(|slot| words[*slot] = 0.01);
    named[little[7]] = true;
    let (query, worth) = (&all[0], Worth { from: 0.0, upto: 1.0, words: 0.5, name: 1.0 });
    let (words, named) = (&words, &named);
    let asked = Asked {
        query,
        allowed: &allowed,
        allowed_count: count,
        wanted: 50,
        words,
        named,
        worth,
        graph: None,
        exact: false,
    };
    let seen = block.search(&asked);
    assert_eq!(seen.how, How::Sketch);
    assert!(much.iter().chain([&little[7]]).all(|slot| seen.cosines[*slot] != NONE));
    let left_out = little.iter().filter(|slot| seen.cosines[**slot] == NONE).count();
    assert!(left_out * 10 > little.len() * 9, "{left_out} of {}", little.len());
}

#[test]
fn a_sketch_follows_what_is_added_and_what_is_gone() {
    let all = vectors(MIN_ROWS + 500);
    let mut block = block(&all[..MIN_ROWS], false);
    for (slot, vector) in all.iter().enumerate().skip(MIN_ROWS) {
        block.push(slot as u32, &packed(vector));
    }
    block.settle();
    let allowed = vec![true; all.len()];
    let seen = search(&block, &all[MIN_ROWS + 77], &allowed, 10);
    assert_eq!((seen.how, ten(&seen.cosines)[0]), (How::Sketch, MIN_ROWS + 77));
    block.blank(&[MIN_ROWS + 77]);
    let seen = search(&block, &all[MIN_ROWS + 77], &allowed, 10);
    assert_eq!(seen.cosines[MIN_ROWS + 77], NONE);
}

/// A graph that looks at every row that it has, or misses all but every so many.
struct Fake {
    keys: Vec<RowKey>,
    vectors: Vec<Vec<f32>>,
    finds_every: usize,
}

impl Neighbours for Fake {
    fn keys(&self) -> &[RowKey] {
        &self.keys
    }

    fn nearest(
        &self,
        query: &[f32],
        breadth: usize,
        allowed: Option<&(dyn Fn(u32) -> bool + Sync)>,
    ) -> Vec<u32> {
        let seen = (0..self.vectors.len() as u32).step_by(self.finds_every);
        let mut found: Vec<u32> =
            seen.filter(|number| allowed.is_none_or(|allowed| allowed(*number))).collect();
        let cosine = |number: u32| dot_f32(&self.vectors[number as usize], query);
        found.sort_by(|a, b| cosine(*b).total_cmp(&cosine(*a)));
        found.truncate(breadth);
        found
    }

    fn bytes(&self) -> usize {
        0
    }
}

fn doc(slot: u32) -> DocId {
    DocId(u64::from(slot) + 1000)
}

/// A graph of the first rows of a block.
fn beside(block: &VectorBlock, rows: usize, finds_every: usize) -> Beside {
    let keys = (0..rows).map(|row| RowKey { doc: doc(row as u32), check: block.check(row) }).collect();
    let vectors = (0..rows).map(|row| block.rough(row)).collect();
    Beside::of(Arc::new(Fake { keys, vectors, finds_every }), 1, block, doc)
}

fn walked(block: &VectorBlock, beside: &Beside, asked: &Asked<'_>) -> Seen {
    block.search(&Asked { graph: Some(Walk { beside, breadth: 64 }), ..*asked })
}

#[test]
fn every_plan_beside_a_graph_finds_what_comparing_all_finds_and_never_fewer() {
    let count = 9000;
    let all = vectors(count);
    let (quick, full) = (block(&all, false), block(&all, true));
    let (words, named) = (vec![0.0; count], vec![false; count]);
    let worth = Worth { from: 0.0, upto: 1.0, words: 0.5, name: 1.0 };
    // A tenth of the rows came after the graph; a bad one finds two in a hundred of the rest.
    for (graph, plans) in [
        (beside(&quick, 8000, 1), vec!["graph", "scan"]),
        (beside(&quick, 8000, 2000), vec!["scan", "sketch"]),
    ] {
        let mut seen = std::collections::BTreeSet::new();
        for (number, query) in vectors(count + 6).iter().skip(count).enumerate() {
            for every in [count, 1_000, 37, 2, 1] {
                let allowed: Vec<bool> = (0..count).map(|slot| slot % every == number % every).collect();
                let allowed_count = allowed.iter().filter(|allowed| **allowed).count();
                let (words, named) = (&words, &named);
                let asked = Asked {
                    query,
                    allowed: &allowed,
                    allowed_count,
                    wanted: 20,
                    words,
                    named,
                    worth,
                    graph: None,
                    exact: false,
                };
                let found = walked(&quick, &graph, &asked);
                seen.insert(found.how.code());
                let (exact, got) = (full.search(&asked).cosines, ten(&found.cosines));
                let counts = found.graph.unwrap();
                assert_eq!((counts.rows, counts.tail), (8000, 1000));
                assert_eq!(counts.allowed + counts.tail_allowed, allowed_count);
                assert_eq!(got.len(), allowed_count.min(10), "never fewer: {every} {:?}", found.how);
                assert!(got.iter().all(|slot| allowed[*slot]));
                let last = exact[*ten(&exact).last().unwrap()] - 2.0 * found.slack;
                assert!(got.iter().all(|slot| exact[*slot] >= last), "{every} {:?}", found.how);
            }
        }
        let seen: Vec<&str> = seen.into_iter().collect();
        // Without the instructions for it the sketch is not asked.
        let is_quick = quick.sketch.as_ref().unwrap().cost().is_some();
        assert!(seen == plans || !is_quick && seen == ["scan"], "{seen:?}");
    }
}

#[test]
fn what_words_and_names_found_is_compared_beside_a_graph() {
    let count = 2000;
    let all = vectors(count);
    let block = block(&all, false);
    let graph = beside(&block, count, 1);
    let far: Vec<usize> = (0..count).filter(|slot| dot_f32(&all[*slot], &all[0]) < -0.1).take(30).collect();
    let (mut words, mut named) = (vec![0.0; count], vec![false; count]);
    far.iter().for_each(|slot| words[*slot] = 0.9);
    named[far[7] + 1] = true;
    let allowed: Vec<bool> = (0..count).map(|slot| slot != far[3]).collect();
    let worth = Worth { from: 0.0, upto: 1.0, words: 0.5, name: 1.0 };
    let asked = Asked {
        query: &all[0],
        allowed: &allowed,
        allowed_count: count - 1,
        wanted: 20,
        words: &words,
        named: &named,
        worth,
        graph: None,
        exact: false,
    };
    let seen = walked(&block, &graph, &asked);
    assert_eq!(seen.how, How::Graph);
    assert!(far.iter().all(|slot| (seen.cosines[*slot] != NONE) == allowed[*slot]));
    assert!(seen.cosines[far[7] + 1] != NONE && seen.compared < 200, "{}", seen.compared);
}

#[test]
fn a_graph_meets_the_rows_that_are_still_what_they_were() {
    let all = vectors(100);
    let mut block = VectorBlock::new(1, DIMS, false);
    all[..60].iter().enumerate().for_each(|(slot, vector)| block.push(slot as u32, &packed(vector)));
    block.settle();
    let graph = beside(&block, 50, 1);
    let stale = |graph: &Beside, rows: usize, gone: u32| graph.is_stale(rows, |row| row >= gone);
    assert_eq!((graph.rows(), graph.tail(60).count()), (50, 10));
    assert_eq!((stale(&graph, 60, 0), stale(&graph, 60, 13)), (Stale::No, Stale::Gone));
    for (slot, vector) in all.iter().enumerate().skip(60) {
        block.push(slot as u32, &packed(vector));
    }
    assert_eq!((graph.tail(100).count(), stale(&graph, 100, 0)), (50, Stale::Behind));
    // Loaded anew, one record has another vector and one is gone.
    let mut other = VectorBlock::new(1, DIMS, false);
    for (slot, vector) in all[..60].iter().enumerate().filter(|(slot, _)| *slot != 9) {
        let vector = if slot == 4 { &all[99] } else { vector };
        other.push(slot as u32, &packed(vector));
    }
    let again = Beside::of(graph.graph().clone(), 1, &other, doc);
    assert_eq!((again.rows(), again.tail(59).count()), (48, 11));
    let found = again.graph().nearest(&all[9], 1, None);
    assert_eq!(found, [9], "the graph has it still");
    let (words, named) = (vec![0.0; 60], vec![false; 60]);
    let worth = Worth { from: 0.0, upto: 1.0, words: 0.5, name: 1.0 };
    let asked = Asked {
        query: &all[9],
        allowed: &[true; 60],
        allowed_count: 59,
        wanted: 5,
        words: &words,
        named: &named,
        worth,
        graph: Some(Walk { beside: &again, breadth: 16 }),
        exact: false,
    };
    let seen = other.search(&asked);
    assert_eq!((seen.how, seen.cosines[9]), (How::Graph, NONE));
}

#[test]
fn rows_weighed_together_weigh_what_each_does_alone() {
    let count = 1000;
    let all = vectors(count);
    let straight = block(&all, false);
    let mut bent = VectorBlock::new(1, DIMS, false);
    (0..count as u32).for_each(|row| bent.push(row / 2 * 2, &packed(&all[row as usize])));
    let allowed: Vec<bool> = (0..count).map(|slot| slot % 3 != 0 && !(200..300).contains(&slot)).collect();
    // Words and names in some runs, and none in others.
    let words: Vec<f32> = (0..count).map(|slot| f32::from(u8::from(slot % 97 == 5)) * 0.4).collect();
    let named: Vec<bool> = (0..count).map(|slot| slot == 641 || slot == 333).collect();
    let cosines: Vec<f32> = (0..count).map(|row| (row as f32 * 0.37).sin()).collect();
    let asked = Asked {
        query: &all[0],
        allowed: &allowed,
        allowed_count: count,
        wanted: 10,
        words: &words,
        named: &named,
        worth: Worth { from: -0.2, upto: 0.7, words: 0.5, name: 1.0 },
        graph: None,
        exact: false,
    };
    for (block, is_straight) in [(&straight, true), (&bent, false)] {
        assert_eq!(block.is_straight, is_straight);
        let weighed = Weighed { block, asked: &asked };
        for (first, end) in [(0, count), (7, 640), (224, 256), (64, 65)] {
            let mut together = cosines[first..end].to_vec();
            weighed.weigh(first, &mut together);
            for (row, together) in (first..end).zip(together) {
                let alone = if weighed.is_allowed(row) { weighed.worth(row, cosines[row]) } else { NONE };
                assert_eq!(together.to_bits(), alone.to_bits(), "{row}");
            }
            let any = (first..end).any(|row| weighed.is_allowed(row));
            assert_eq!(weighed.is_any_allowed(first..end), any);
        }
    }
}

#[test]
fn an_exact_question_is_answered_in_full_whatever_is_kept() {
    let count = MIN_ROWS + 300;
    let all = vectors(count);
    let (kept, full) = (block(&all, false), block(&all, true));
    assert!(kept.is_full() && kept.sketch.is_some());
    let (words, named) = (vec![0.0; count], vec![false; count]);
    let worth = Worth { from: 0.0, upto: 1.0, words: 0.5, name: 1.0 };
    let asked = Asked {
        query: &all[17],
        allowed: &vec![true; count],
        allowed_count: count,
        wanted: 10,
        words: &words,
        named: &named,
        worth,
        graph: None,
        exact: true,
    };
    let (found, want) = (kept.search(&asked), full.search(&asked));
    assert_eq!((found.how, found.slack, found.compared), (How::Exact, 0.0, count));
    assert_eq!(found.cosines, want.cosines);
    assert_eq!(kept.search(&Asked { exact: false, ..asked }).how, How::Sketch);
}
