//! Runs the network over token ids: BERT's encoder (Devlin et al. 2019), then the mean over the tokens.
//! Knows neither text nor batches of texts.

use super::weights::{Layer, Norm, Weights};
use crate::simd::{
    Activations, AttentionScratch, Level, add_layer_norm, attention, dot_f32, gelu, layer_norm, product,
};

/// Returns the vector of each input, of unit length unless the weights are nonsense.
///
/// Inputs are laid one behind the other for the products, which treat each token by itself, and
/// separated for attention. So an input's vector does not depend on its neighbours.
pub(super) fn embed(weights: &Weights, level: Level, inputs: &[&[u32]]) -> Vec<Vec<f32>> {
    let width = weights.width;
    let tokens: usize = inputs.iter().map(|input| input.len()).sum();
    let mut buffers = Buffers::new(tokens, width, weights.inner);
    let mut states = vec![0f32; tokens * width];
    look_up(weights, inputs, &mut states);
    let Norm { gain, bias } = &weights.embedding_norm;
    layer_norm(level, &mut states, gain, bias, weights.epsilon);
    for layer in &weights.layers {
        run_layer(layer, level, weights, inputs, &mut states, &mut buffers);
    }
    let mut rest = states.as_slice();
    let mean = |input: &&[u32]| {
        let (mine, others) = rest.split_at(input.len() * width);
        rest = others;
        unit_mean(mine, width)
    };
    inputs.iter().map(mean).collect()
}

/// Memory for what a layer computes on the way, used by all layers.
struct Buffers {
    activations: Activations,
    projected: Vec<f32>,
    attended: Vec<f32>,
    inner: Vec<f32>,
    residual: Vec<f32>,
    attention: AttentionScratch,
}

impl Buffers {
    fn new(tokens: usize, width: usize, inner: usize) -> Buffers {
        Buffers {
            activations: Activations::default(),
            projected: vec![0.0; tokens * 3 * width],
            attended: vec![0.0; tokens * width],
            inner: vec![0.0; tokens * inner],
            residual: vec![0.0; tokens * width],
            attention: AttentionScratch::default(),
        }
    }
}

/// Writes the sum of the vectors of token, place and type.
fn look_up(weights: &Weights, inputs: &[&[u32]], states: &mut [f32]) {
    let places =
        inputs.iter().flat_map(|input| input.iter().zip(weights.positions.chunks_exact(weights.width)));
    for ((token, position), state) in places.zip(states.chunks_exact_mut(weights.width)) {
        weights.embeddings.write(*token, state);
        state.iter_mut().zip(position).for_each(|(state, position)| *state += position);
    }
}

fn run_layer(
    layer: &Layer,
    level: Level,
    weights: &Weights,
    inputs: &[&[u32]],
    states: &mut [f32],
    buffers: &mut Buffers,
) {
    let (width, epsilon) = (weights.width, weights.epsilon);
    let Buffers { activations, projected, attended, inner, residual, attention: scratch } = buffers;
    activations.quantise(level, states, width);
    product(level, &layer.projection, activations, projected);
    let mut start = 0;
    for input in inputs {
        let end = start + input.len();
        let out = &mut attended[start * width..end * width];
        attention(level, &projected[start * 3 * width..end * 3 * width], width, scratch, out);
        start = end;
    }
    activations.quantise(level, attended, width);
    product(level, &layer.attention_output, activations, residual);
    add_layer_norm(level, states, residual, &layer.attention_norm.gain, &layer.attention_norm.bias, epsilon);
    activations.quantise(level, states, width);
    product(level, &layer.up, activations, inner);
    gelu(level, inner);
    activations.quantise(level, inner, weights.inner);
    product(level, &layer.down, activations, residual);
    add_layer_norm(level, states, residual, &layer.output_norm.gain, &layer.output_norm.bias, epsilon);
}

/// Returns the mean of the tokens, scaled to unit length. The scaling makes the division by their number
/// unnecessary.
fn unit_mean(states: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0f32; width];
    for state in states.chunks_exact(width) {
        sum.iter_mut().zip(state).for_each(|(sum, x)| *sum += x);
    }
    let length = dot_f32(&sum, &sum).sqrt();
    sum.iter_mut().for_each(|x| *x /= length);
    sum
}
