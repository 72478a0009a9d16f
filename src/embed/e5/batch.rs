//! Which inputs go through the network together. Decides about speed only: no vector depends on it.

use rayon::prelude::*;

/// Tokens in one pass, unless a single input has more. Enough for the weights of a layer to be read from
/// memory once for many tokens, few enough for the states to stay in the cache.
const MAX_TOKENS: usize = 256;

/// Fewest tokens for which another thread is worth waking.
const MIN_TOKENS: usize = 32;

/// Calls `run` for groups of inputs, on all threads, and returns its results in the order of the inputs.
pub(super) fn in_groups<T: Send>(inputs: &[Vec<u32>], run: impl Fn(&[&[u32]]) -> Vec<T> + Sync) -> Vec<T> {
    let order = by_length(inputs);
    let groups = groups(inputs, &order, rayon::current_num_threads());
    let pass = |group: &&[usize]| {
        let members: Vec<&[u32]> = group.iter().map(|input| inputs[*input].as_slice()).collect();
        run(&members)
    };
    let results: Vec<Vec<T>> = groups.par_iter().with_max_len(1).map(pass).collect();
    let mut placed: Vec<(usize, T)> = order.iter().copied().zip(results.into_iter().flatten()).collect();
    placed.sort_unstable_by_key(|(input, _)| *input);
    placed.into_iter().map(|(_, result)| result).collect()
}

/// Longest first, so that no thread begins a long group when the others are done.
fn by_length(inputs: &[Vec<u32>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|input| std::cmp::Reverse(inputs[*input].len()));
    order
}

/// Cuts the order into groups of a bounded number of tokens, at least one for each thread if there is
/// enough to do.
fn groups<'a>(inputs: &[Vec<u32>], order: &'a [usize], threads: usize) -> Vec<&'a [usize]> {
    let total: usize = inputs.iter().map(Vec::len).sum();
    let limit = total.div_ceil(threads.max(1)).clamp(MIN_TOKENS, MAX_TOKENS);
    let mut groups = Vec::new();
    let mut start = 0;
    let mut tokens = 0;
    for (at, input) in order.iter().enumerate() {
        let length = inputs[*input].len();
        if at > start && tokens + length > limit {
            groups.push(&order[start..at]);
            (start, tokens) = (at, 0);
        }
        tokens += length;
    }
    if start < order.len() {
        groups.push(&order[start..]);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_in_order_whatever_the_groups() {
        for count in [0, 1, 2, 7, 100] {
            let inputs: Vec<Vec<u32>> = (0..count).map(|i| vec![i; (i as usize * 37) % 91 + 1]).collect();
            let results = in_groups(&inputs, |group| group.iter().map(|input| input[0]).collect());
            assert_eq!(results, (0..count).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn groups_are_bounded_and_leave_no_thread_idle() {
        let inputs: Vec<Vec<u32>> = (0..50).map(|i| vec![0; i % 60 + 2]).chain([vec![0; 512]]).collect();
        let order = by_length(&inputs);
        let groups = groups(&inputs, &order, 2);
        assert_eq!(groups.concat(), order);
        let tokens = |group: &&[usize]| group.iter().map(|i| inputs[*i].len()).sum::<usize>();
        assert!(groups.iter().all(|group| tokens(group) <= MAX_TOKENS || group.len() == 1));

        let few = vec![vec![0; 40]; 4];
        assert_eq!(super::groups(&few, &by_length(&few), 2).len(), 2);
    }
}
