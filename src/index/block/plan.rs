//! How is a block searched? A pure function of counts that are known exactly beforehand.
//!
//! A cost is an estimate, in rows compared by their bytes: about 20 nanoseconds each for 384 numbers.
//! docs/PERFORMANCE.md has what the figures here come from.

use super::How;
use super::beside::GraphCounts;

/// What a unit of a graph's breadth costs, as 20,000 rows measure.
const STEP: usize = 800;
/// How many times as much it is when a filter keeps a walk from ending early.
const FILTERED: usize = 2;
/// A graph whose filter leaves less than this share of its rows is slow, and finds less.
const ALLOWED_SHARE: usize = 2;
/// A graph that lacks more than this share of the rows is not asked before it has been completed.
const TAIL_SHARE: usize = 3;

/// What a search knows before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// Rows of the block.
    pub rows: usize,
    /// Records that the filters let through.
    pub allowed: usize,
    /// What asking the sketch costs; none without one.
    pub sketch: Option<usize>,
    /// What a graph has to do with, and how many of its rows it looks for.
    pub graph: Option<(GraphCounts, usize)>,
}

/// What is done, what that costs, and what would have been done otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub how: How,
    pub cost: usize,
    pub instead: Option<(How, usize)>,
}

/// The plan without a graph, and a graph's in its place where it is asked for and ready and the filters leave
/// enough of it. Whether a graph repays itself is the policy's word (`graph_from`), not that of the estimate.
pub(super) fn choose(counts: Counts) -> Choice {
    let scan = (How::Scan, counts.allowed);
    let sketch = counts.sketch.map(|cost| (How::Sketch, cost));
    let ((how, cost), other) = match sketch {
        Some(sketch) if sketch.1 < scan.1 => (sketch, Some(scan)),
        other => (scan, other),
    };
    match counts.graph {
        Some((graph, breadth)) if is_ready(graph, breadth) => {
            Choice { how: How::Graph, cost: cost_of(graph, breadth), instead: Some((how, cost)) }
        }
        _ => Choice { how, cost, instead: other },
    }
}

fn is_ready(graph: GraphCounts, breadth: usize) -> bool {
    graph.allowed > breadth
        && graph.allowed * ALLOWED_SHARE >= graph.rows
        && graph.tail * TAIL_SHARE <= graph.rows
}

fn cost_of(graph: GraphCounts, breadth: usize) -> usize {
    let walk = match graph.allowed < graph.rows {
        true => breadth * STEP * FILTERED * graph.rows / graph.allowed.max(1),
        false => breadth * STEP,
    };
    walk + graph.tail_allowed + graph.found
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: GraphCounts =
        GraphCounts { rows: 90_000, allowed: 90_000, tail: 10_000, tail_allowed: 10_000, found: 7 };

    fn chosen(allowed: usize, graph: Option<GraphCounts>) -> Choice {
        let graph = graph.map(|graph| (graph, 100));
        choose(Counts { rows: 100_000, allowed, sketch: Some(14_000), graph })
    }

    #[test]
    fn without_a_graph_the_cheaper_of_scan_and_sketch_is_taken() {
        let choice = |how, cost, instead| Choice { how, cost, instead };
        assert_eq!(chosen(14_000, None), choice(How::Scan, 14_000, Some((How::Sketch, 14_000))));
        assert_eq!(chosen(14_001, None), choice(How::Sketch, 14_000, Some((How::Scan, 14_001))));
        let none = choose(Counts { rows: 9, allowed: 5, sketch: None, graph: None });
        assert_eq!(none, choice(How::Scan, 5, None));
    }

    #[test]
    fn a_graph_is_asked_where_the_filters_leave_enough_of_it_and_it_lacks_little() {
        let all = chosen(100_000, Some(GRAPH));
        assert_eq!((all.how, all.cost), (How::Graph, 100 * STEP + 10_007));
        assert_eq!(all.instead, Some((How::Sketch, 14_000)));
        let how = |graph: GraphCounts| chosen(50_000, Some(graph)).how;
        assert_eq!(how(GraphCounts { allowed: 45_000, ..GRAPH }), How::Graph);
        assert_eq!(how(GraphCounts { allowed: 44_999, ..GRAPH }), How::Sketch);
        assert_eq!(how(GraphCounts { tail: 30_001, ..GRAPH }), How::Sketch);
        assert_eq!(how(GraphCounts { rows: 100, allowed: 100, tail: 0, ..GRAPH }), How::Sketch);
        let filtered = chosen(50_000, Some(GraphCounts { allowed: 89_999, ..GRAPH }));
        assert!(filtered.cost >= all.cost + 100 * STEP);
    }
}
