//! What a model consists of, and what an endpoint answers: files and bytes of somebody else.

use recordari::embed::E5;
use recordari::{Embedder, ErrorKind};

use crate::Target;
use crate::numbers::Numbers;
use crate::texts::assert_fair;

const MANIFEST: &str = r#"name = "tiny"
dims = 64
query_prefix = "query: "
passage_prefix = "passage: "
max_tokens = 256
[calibration]
unrelated = 0.5
related = 0.9
"#;

const TOKENIZER: &str = r#"{
    "added_tokens": [{"id": 0, "content": "<s>"}, {"id": 1, "content": "</s>"}, {"id": 2, "content": "<unk>"}],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"Regex": "[\\x{1}\\x{7f}]"}, "content": ""},
        {"type": "NFKC"},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": false},
    "post_processor": {"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}}]},
    "model": {"type": "Unigram", "unk_id": 2, "byte_fallback": false, "vocab": [
        ["<s>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁", -3.0], ["a", -4.0], ["b", -4.0], ["ab", -5.0],
        ["▁ab", -5.5], ["s", -6.0], ["<", -6.0], [">", -6.0], ["好", -7.0]]}
}"#;

const WIDTH: u64 = 64;
const PLACES: u64 = 256;
const VOCABULARY: u64 = 12;

pub fn targets() -> Vec<Target> {
    let gguf = gguf();
    let sound = E5::from_bytes(MANIFEST, gguf.clone(), TOKENIZER.as_bytes()).unwrap();
    assert_eq!(sound.embed_query("ab 好").unwrap().len(), WIDTH as usize);
    let (for_manifest, for_tokenizer) = (gguf.clone(), gguf.clone());
    let targets = vec![
        Target::new("model-weights", 60, vec![gguf], |input, _| {
            read(E5::from_bytes(MANIFEST, input.to_vec(), TOKENIZER.as_bytes()))
        }),
        Target::new("model-manifest", 100, vec![MANIFEST.as_bytes().to_vec()], move |input, _| {
            let manifest = String::from_utf8_lossy(input);
            read(E5::from_bytes(&manifest, for_manifest.clone(), TOKENIZER.as_bytes()))
        }),
        Target::new("model-tokenizer", 150, vec![TOKENIZER.as_bytes().to_vec()], move |input, _| {
            read(E5::from_bytes(MANIFEST, for_tokenizer.clone(), input))
        }),
    ];
    #[cfg(feature = "http-embedder")]
    let targets = targets.into_iter().chain([answers::target()]).collect();
    targets
}

/// What was taken embeds a text, or says that it can't.
fn read(model: recordari::Result<E5>) -> bool {
    let model = match model {
        Ok(model) => model,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Environment);
            assert_fair(&error, &[]);
            return false;
        }
    };
    for vector in [model.embed_query("ab 好 abc"), model.embed_query("")] {
        match vector {
            Ok(vector) => {
                assert_eq!(vector.len(), model.model().dims);
                assert!(vector.iter().all(|x| x.is_finite()));
            }
            Err(error) => assert_fair(&error, &[]),
        }
    }
    true
}

/// A network of one layer, in the file format of large ones.
fn gguf() -> Vec<u8> {
    let mut numbers = Numbers::new(7);
    let mut data: Vec<u8> = Vec::new();
    let mut entries: Vec<u8> = Vec::new();
    let mut count = 0_u64;
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut tensor = |name: &str, shape: &[u64], is_floats: bool| {
        let elements: u64 = shape.iter().product();
        let offset = data.len() as u64;
        if is_floats {
            for _ in 0..elements {
                data.extend((numbers.below(1000) as f32 / 1000.0).to_le_bytes());
            }
        } else {
            // Blocks of 32 numbers of four bits, with a scale of 1/16 as a half.
            for _ in 0..elements / 32 {
                data.extend(0x2c00_u16.to_le_bytes());
                data.extend((0..16).map(|_| numbers.below(256) as u8));
            }
        }
        data.resize(data.len().next_multiple_of(32), 0);
        entries.extend(text(name));
        entries.extend((shape.len() as u32).to_le_bytes());
        shape.iter().for_each(|side| entries.extend(side.to_le_bytes()));
        entries.extend(if is_floats { 0_u32 } else { 2 }.to_le_bytes());
        entries.extend(offset.to_le_bytes());
        count += 1;
    };
    tensor("token_embd.weight", &[WIDTH, VOCABULARY], false);
    tensor("position_embd.weight", &[WIDTH, PLACES], true);
    tensor("token_types.weight", &[WIDTH, 1], true);
    for name in ["token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"] {
        tensor(&format!("{name}.weight"), &[WIDTH], true);
        tensor(&format!("{name}.bias"), &[WIDTH], true);
    }
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"] {
        tensor(&format!("blk.0.{name}.weight"), &[WIDTH, WIDTH], false);
        tensor(&format!("blk.0.{name}.bias"), &[WIDTH], true);
    }
    let integer = |key: &str, value: u64| {
        [&text(key)[..], &4_u32.to_le_bytes(), &(value as u32).to_le_bytes()].concat()
    };
    let mut file = [
        &b"GGUF"[..],
        &3_u32.to_le_bytes(),
        &count.to_le_bytes(),
        &6_u64.to_le_bytes(),
        &text("general.architecture"),
        &8_u32.to_le_bytes(),
        &text("bert"),
        &integer("bert.embedding_length", WIDTH),
        &integer("bert.feed_forward_length", WIDTH),
        &integer("bert.block_count", 1),
        &integer("bert.attention.head_count", WIDTH / 32),
        &text("bert.attention.layer_norm_epsilon"),
        &6_u32.to_le_bytes(),
        &1e-6_f32.to_le_bytes(),
        &entries,
    ]
    .concat();
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(data);
    file
}

#[cfg(feature = "http-embedder")]
mod answers {
    use std::sync::{Arc, Mutex};

    use recordari::Embedder;
    use recordari::embed::{HttpEmbedder, HttpOptions};

    use crate::Target;
    use crate::stub::{Stub, ok};
    use crate::texts::assert_fair;

    const DIMS: usize = 4;
    const ASKED: &str = "Marzipanforelle mit Quittenbrot";

    /// What an endpoint answers; the text that it was sent is never in an error.
    pub fn target() -> Target {
        let seeds: [&[u8]; 3] = [
            br#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1.0,0.5,-2.0,0.25]}],"model":"m"}"#,
            br#"{"data":[{"embedding":[1e-30,1e30,3,4]}]}"#,
            br#"{"error":{"message":"Marzipanforelle mit Quittenbrot is not to be asked about"}}"#,
        ];
        let next: Arc<Mutex<Vec<u8>>> = Arc::default();
        let answer = next.clone();
        let stub = Stub::start(move |_| ok(answer.lock().unwrap().clone()));
        let options = HttpOptions { dims: Some(DIMS), attempts: 1, ..stub.options() };
        let embedder = HttpEmbedder::open(options).unwrap();
        Target::new("embeddings", 40, seeds.map(<[u8]>::to_vec).to_vec(), move |input, _| {
            let _ = &stub;
            *next.lock().unwrap() = input.to_vec();
            match embedder.embed_query(ASKED) {
                Ok(vector) => {
                    let length: f32 = vector.iter().map(|x| x * x).sum();
                    assert!(vector.len() == DIMS && (length - 1.0).abs() < 1e-3, "{vector:?}");
                    true
                }
                Err(error) => {
                    assert_fair(&error, &[ASKED]);
                    false
                }
            }
        })
    }
}
