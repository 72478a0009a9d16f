//! The weights of the network in the form in which the engine multiplies them. Reads the tensors that a
//! GGUF file lists; does not run the network.
//!
//! Tensor names and settings are those of llama.cpp for the architecture `bert`. Matrices of layers are
//! re-quantised from blocks of four bits to bytes with one scale per row; the embedding table, of which a
//! text touches few rows, stays as it is in the file.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::gguf::{Gguf, TensorFormat, bad};
use super::q4;
use crate::error::Result;
use crate::simd::{GROUP_ROWS, HEAD_WIDTH, Int8Matrix, Level};

/// Sizes beyond those of any model of the family; they keep a damaged file from asking for the moon.
const MAX_WIDTH: usize = 4096;
const MAX_INNER: usize = 16_384;
const MAX_LAYERS: u64 = 64;

/// A network, ready for use.
pub(super) struct Weights {
    pub(super) width: usize,
    pub(super) inner: usize,
    pub(super) epsilon: f32,
    pub(super) embeddings: EmbeddingTable,
    /// A vector per place in the text, to which the vector of the only token type is already added.
    pub(super) positions: Vec<f32>,
    pub(super) embedding_norm: Norm,
    pub(super) layers: Vec<Layer>,
}

/// Gain and bias of a layer norm.
pub(super) struct Norm {
    pub(super) gain: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// One layer of the encoder.
pub(super) struct Layer {
    /// Queries, keys and values in one matrix.
    pub(super) projection: Int8Matrix,
    pub(super) attention_output: Int8Matrix,
    pub(super) attention_norm: Norm,
    pub(super) up: Int8Matrix,
    pub(super) down: Int8Matrix,
    pub(super) output_norm: Norm,
}

/// The vectors of the tokens, in the bytes of the file.
pub(super) struct EmbeddingTable {
    file: Cow<'static, [u8]>,
    table: Range<usize>,
    row_bytes: usize,
}

impl EmbeddingTable {
    /// Writes the vector of a token.
    pub(super) fn write(&self, token: u32, vector: &mut [f32]) {
        let row = &self.file[self.table.clone()][token as usize * self.row_bytes..][..self.row_bytes];
        q4::decode(row, vector);
    }

    /// Returns the number of tokens.
    pub(super) fn rows(&self) -> usize {
        self.table.len() / self.row_bytes
    }
}

impl Weights {
    /// Reads the network. Of an owned file, only the part up to the end of the embedding table is kept.
    pub(super) fn read(file: Cow<'static, [u8]>, level: Level) -> Result<Weights> {
        let gguf = Gguf::read(&file)?;
        let architecture = gguf.text("general.architecture")?;
        if architecture != "bert" {
            return Err(bad(format!("the architecture is {architecture:?}, and bert is known")));
        }
        let width = gguf.integer("bert.embedding_length")? as usize;
        let inner = gguf.integer("bert.feed_forward_length")? as usize;
        let layers = gguf.integer("bert.block_count")?;
        for (what, size, limit) in [("width", width, MAX_WIDTH), ("inner width", inner, MAX_INNER)] {
            if !(1..=limit).contains(&size) || !size.is_multiple_of(GROUP_ROWS) {
                return Err(bad(format!(
                    "the {what} is {size}, not a multiple of {GROUP_ROWS} up to {limit}"
                )));
            }
        }
        if gguf.integer("bert.attention.head_count")? != (width / HEAD_WIDTH) as u64 {
            return Err(bad(format!("the heads are not {HEAD_WIDTH} wide")));
        }
        if !(1..=MAX_LAYERS).contains(&layers) {
            return Err(bad(format!("it has {layers} layers, and 1 to {MAX_LAYERS} are known")));
        }
        let epsilon = gguf.float("bert.attention.layer_norm_epsilon")? as f32;
        if !(0.0..=0.1).contains(&epsilon) {
            return Err(bad("the epsilon is not a small number"));
        }
        let tensors = Tensors { gguf: &gguf, file: &file, level };
        let [_, vocabulary] = *gguf.shape("token_embd.weight")? else {
            return Err(bad("the embedding table is not a table"));
        };
        let table = gguf.tensor("token_embd.weight", TensorFormat::Q4, &[width, vocabulary])?.bytes.clone();
        if !q4::is_finite(&file[table.clone()]) {
            return Err(bad("the embedding table has a scale that is not finite"));
        }
        let positions = tensors.positions(width)?;
        let embedding_norm = tensors.norm("token_embd_norm", width)?;
        let layers = (0..layers).into_par_iter().map(|layer| tensors.layer(layer, width, inner));
        let layers = layers.collect::<Result<Vec<_>>>()?;
        let row_bytes = width / q4::BLOCK * q4::BLOCK_BYTES;
        let file = keep_until(file, table.end);
        let embeddings = EmbeddingTable { file, table, row_bytes };
        Ok(Weights { width, inner, epsilon, embeddings, positions, embedding_norm, layers })
    }
}

/// Gives back the memory behind `end`, if it can be given back.
fn keep_until(file: Cow<'static, [u8]>, end: usize) -> Cow<'static, [u8]> {
    match file {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes),
        Cow::Owned(mut bytes) => {
            bytes.truncate(end);
            bytes.shrink_to_fit();
            Cow::Owned(bytes)
        }
    }
}

/// Reads tensors by name.
struct Tensors<'a> {
    gguf: &'a Gguf,
    file: &'a [u8],
    level: Level,
}

impl Tensors<'_> {
    fn layer(&self, layer: u64, width: usize, inner: usize) -> Result<Layer> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        Ok(Layer {
            projection: self.matrix(&["attn_q", "attn_k", "attn_v"].map(name), width, width)?,
            attention_output: self.matrix(&[name("attn_output")], width, width)?,
            attention_norm: self.norm(&name("attn_output_norm"), width)?,
            up: self.matrix(&[name("ffn_up")], width, inner)?,
            down: self.matrix(&[name("ffn_down")], inner, width)?,
            output_norm: self.norm(&name("layer_output_norm"), width)?,
        })
    }

    /// Reads matrices of one shape as a single one, row after row.
    fn matrix(&self, names: &[String], columns: usize, rows: usize) -> Result<Int8Matrix> {
        let mut bias = Vec::with_capacity(names.len() * rows);
        let mut parts = Vec::with_capacity(names.len());
        for name in names {
            let blocks = self.gguf.tensor(&format!("{name}.weight"), TensorFormat::Q4, &[columns, rows])?;
            let blocks = &self.file[blocks.bytes.clone()];
            if !q4::is_finite(blocks) {
                return Err(bad(format!("tensor {name}.weight has a scale that is not finite")));
            }
            bias.extend(self.floats(&format!("{name}.bias"), &[rows])?);
            parts.push(blocks);
        }
        let row_bytes = columns / q4::BLOCK * q4::BLOCK_BYTES;
        Ok(Int8Matrix::from_rows(self.level, columns, bias, |row, values| {
            q4::decode(&parts[row / rows][row % rows * row_bytes..][..row_bytes], values);
        }))
    }

    fn norm(&self, name: &str, width: usize) -> Result<Norm> {
        Ok(Norm {
            gain: self.floats(&format!("{name}.weight"), &[width])?,
            bias: self.floats(&format!("{name}.bias"), &[width])?,
        })
    }

    fn positions(&self, width: usize) -> Result<Vec<f32>> {
        let [_, places] = *self.gguf.shape("position_embd.weight")? else {
            return Err(bad("the table of positions is not a table"));
        };
        let mut positions = self.floats("position_embd.weight", &[width, places])?;
        let kind = self.floats("token_types.weight", &[width, 1])?;
        for place in positions.chunks_exact_mut(width) {
            place.iter_mut().zip(&kind).for_each(|(position, kind)| *position += kind);
        }
        Ok(positions)
    }

    fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.gguf.tensor(name, TensorFormat::F32, shape)?;
        let bytes = self.file[tensor.bytes.clone()].as_chunks::<4>().0;
        let floats: Vec<f32> = bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if floats.iter().any(|x| !x.is_finite()) {
            return Err(bad(format!("tensor {name} has a number that is not finite")));
        }
        Ok(floats)
    }
}
