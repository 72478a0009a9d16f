//! What the engine promises, held against the model in `models/`: the reference vectors, the same bits
//! however a text is embedded, and errors rather than panics for damaged files.

use std::path::PathBuf;
use std::sync::LazyLock;

use super::gguf::{Gguf, TensorFormat};
use super::*;
use crate::embed::MAX_WINDOWS;
use crate::simd::dot_f32;

static MODEL: LazyLock<E5> = LazyLock::new(|| E5::from_folder(&folder()).unwrap());

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/models/multilingual-e5-small-q4"))
}

fn json<T: serde::de::DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&std::fs::read(folder().join(name)).unwrap()).unwrap()
}

/// A text with its prefix, its tokens, and its vector by the weights as floats.
#[derive(serde::Deserialize)]
struct Golden {
    text: String,
    token_ids: Vec<u32>,
    vector: Vec<f32>,
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|x| x.to_bits()).collect()
}

fn passage(text: &str) -> Vec<Vec<f32>> {
    MODEL.embed_passages(&[text]).unwrap().remove(0)
}

fn assert_unit(vector: &[f32]) {
    assert_eq!(vector.len(), 384);
    assert!((dot_f32(vector, vector) - 1.0).abs() < 1e-5);
}

#[test]
fn golden_texts_have_their_tokens_and_vectors() {
    let golden: Vec<Golden> = json("golden.json");
    assert_eq!(golden.len(), 16);
    let mut cosines = Vec::new();
    for Golden { text, token_ids, vector } in &golden {
        let mut pieces = MODEL.tokenizer.pieces(text);
        pieces.truncate(MODEL.max_tokens - 2);
        let bare = Prefix { text: String::new(), tokens: Vec::new() };
        assert_eq!(MODEL.input(&bare, &pieces), *token_ids, "{text}");
        let got = MODEL.run(&[token_ids]).remove(0);
        assert_unit(&got);
        let cosine = dot_f32(&got, vector) / dot_f32(vector, vector).sqrt();
        assert!(cosine > 0.999, "{text}: {cosine}");
        cosines.push(cosine);
        for level in Level::available() {
            // The scalar level needs seconds for the longest text, and has nothing new to show there.
            if token_ids.len() < 100 || level != Level::SCALAR {
                let same = forward::embed(&MODEL.weights, level, &[token_ids]).remove(0);
                assert_eq!(bits(&same), bits(&got), "{level}: {text}");
            }
        }
    }
    let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
    assert!(mean > 0.9995, "{mean}");
}

#[test]
fn tokens_are_those_of_the_reference_tokenizer() {
    // Made by the `tokenizers` crate 0.23 from the same file: many scripts, odd spaces, random characters.
    let reference: Vec<(String, Vec<u32>)> = json("tokens.json");
    assert!(reference.len() > 200);
    for (text, ids) in reference {
        assert_eq!(MODEL.tokenizer.pieces(&text), ids, "{text:?}");
    }
}

#[test]
fn a_text_alone_and_in_company_has_the_same_bits() {
    let base = "The staging token is rotated on the first of each month. 每个月的第一天更换令牌。";
    let texts: Vec<String> = (0..40).map(|i| base.chars().cycle().take(i * i % 200).collect()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = MODEL.embed_passages(&texts).unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, vectors) in texts.iter().zip(&together) {
        assert_eq!(vectors.len(), 1);
        assert_eq!(bits(&passage(text)[0]), bits(&vectors[0]), "{text}");
    }
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    let mut again = MODEL.embed_passages(&reversed).unwrap();
    again.reverse();
    assert_eq!(again, together);
}

#[test]
fn threads_that_share_the_model_do_not_disturb_one_another() {
    let want = bits(&MODEL.embed_query("where are the keys").unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(bits(&MODEL.embed_query("where are the keys").unwrap()), want));
        }
    });
}

#[test]
fn the_tail_of_a_long_text_is_found() {
    let filler = "We talked about the weather, the traffic and what to have for lunch. ".repeat(150);
    let text = format!("{filler}The wifi password of the summer house is marmalade.");
    let windows = passage(&text);
    assert!(windows.len() > 3, "{}", windows.len());
    windows.iter().for_each(|window| assert_unit(window));
    let query = MODEL.embed_query("what is the wifi password in the summer house?").unwrap();
    let cosines: Vec<f32> = windows.iter().map(|window| dot_f32(&query, window)).collect();
    let (last, others) = cosines.split_last().unwrap();
    assert!(others.iter().all(|other| other + 0.02 < *last), "{cosines:?}");
}

#[test]
fn every_input_of_a_long_text_keeps_to_the_limit_and_has_the_prefix() {
    let text = "word ".repeat(50_000);
    let inputs = MODEL.passage_inputs(&text);
    assert_eq!(inputs.len(), MAX_WINDOWS);
    for input in &inputs {
        assert!(input.len() <= MODEL.max_tokens);
        assert_eq!(input[0], MODEL.tokenizer.begin());
        assert_eq!(input[1..=MODEL.passage.tokens.len()], MODEL.passage.tokens);
        assert_eq!(input.last(), Some(&MODEL.tokenizer.end()));
    }
    assert_eq!(MODEL.query_input(&text).len(), MODEL.max_tokens);
    assert_eq!(beginning("aé", 2), "a");
}

#[test]
fn odd_texts_get_a_vector_like_others() {
    let long_word = "x".repeat(3_000);
    let texts = [
        "",
        " ",
        "\0",
        "\u{1}\u{2}",
        "🦀",
        "👩‍👩‍👧‍👦🇩🇪",
        "</s><s><pad>",
        "我的猫叫小白。",
        "\u{e000}",
        "\u{feff}",
        &long_word,
    ];
    for (text, vectors) in texts.iter().zip(MODEL.embed_passages(&texts).unwrap()) {
        assert!(!vectors.is_empty(), "{text:?}");
        vectors.iter().for_each(|vector| assert_unit(vector));
        assert_unit(&MODEL.embed_query(text).unwrap());
    }
    assert!(MODEL.embed_passages(&[]).unwrap().is_empty());
}

#[test]
fn a_question_is_nearest_to_the_memory_that_answers_it() {
    let nearest = |query: &str, memories: &[&str]| {
        let query = MODEL.embed_query(query).unwrap();
        let cosines: Vec<f32> = memories.iter().map(|memory| dot_f32(&query, &passage(memory)[0])).collect();
        (0..cosines.len()).max_by(|a, b| cosines[*a].total_cmp(&cosines[*b])).unwrap()
    };
    let english = ["Her sister is allergic to peanuts.", "The build fails on Windows.", "He runs marathons."];
    assert_eq!(nearest("what is her sister allergic to?", &english), 0);
    assert_eq!(nearest("what sport does he do?", &english), 2);
    let chinese = ["她的妹妹对花生过敏。", "构建在 Windows 上失败。", "他跑马拉松。"];
    assert_eq!(nearest("哪个平台有问题？", &chinese), 1);
}

#[test]
fn the_model_is_described_by_its_manifest() {
    let ModelInfo { name, fingerprint, dims, calibration } = MODEL.model();
    assert_eq!((name.as_str(), *dims, fingerprint.len()), ("multilingual-e5-small-q4", 384, 16));
    assert!(calibration.relevance(0.7) == 0.0 && calibration.relevance(0.95) == 1.0);
}

#[cfg(feature = "embedded-model")]
#[test]
fn the_embedded_model_is_the_one_in_the_folder() {
    let embedded = E5::embedded().unwrap();
    // Equal fingerprints: the digests in the manifest, which `embedded` trusts, are those of the files.
    assert_eq!(embedded.model(), MODEL.model());
    let [a, b] = [&embedded, &MODEL].map(|model| bits(&model.embed_query("hello").unwrap()));
    assert_eq!(a, b);
}

#[test]
fn a_model_is_described_without_being_loaded() {
    assert_eq!(E5::folder_info(&folder()).unwrap(), *MODEL.model());
    #[cfg(feature = "embedded-model")]
    assert_eq!(E5::embedded_info().unwrap(), *MODEL.model());
    assert!(E5::folder_info(&folder().join("nowhere")).is_err());
}

#[test]
fn a_file_that_differs_from_the_manifest_is_refused() {
    let manifest = std::fs::read_to_string(folder().join(MANIFEST_FILE)).unwrap();
    let tokenizer = std::fs::read(folder().join(TOKENIZER_FILE)).unwrap();
    let mut weights = std::fs::read(folder().join(WEIGHTS_FILE)).unwrap();
    *weights.last_mut().unwrap() ^= 1;
    let error = E5::from_bytes(&manifest, weights, &tokenizer).err().unwrap().to_string();
    assert!(error.contains("model.gguf is damaged"), "{error}");
    let error = E5::from_folder(&folder().join("nowhere")).err().unwrap();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

#[test]
fn damaged_weights_are_an_error_not_a_panic() {
    let file = std::fs::read(folder().join(WEIGHTS_FILE)).unwrap();
    for length in [0, 3, 4, 24, 1000, 11_000, 11_653, 30_000, file.len() / 2, file.len() - 1] {
        let error = Weights::read(file[..length].to_vec().into(), Level::detect()).err();
        assert!(matches!(error, Some(Error::Embed(_))), "{length} bytes");
    }
    // A number that is not finite, in the first bias.
    let bias = Gguf::read(&file)
        .unwrap()
        .tensor("blk.0.attn_q.bias", TensorFormat::F32, &[384])
        .unwrap()
        .bytes
        .start;
    let mut damaged = file;
    damaged[bias..bias + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let error = Weights::read(damaged.into(), Level::detect()).err().unwrap().to_string();
    assert!(error.contains("blk.0.attn_q.bias"), "{error}");
}

#[test]
fn any_flipped_bit_in_the_head_of_the_file_is_survived() {
    let file = std::fs::read(folder().join(WEIGHTS_FILE)).unwrap();
    let mut head = file[..12_000].to_vec();
    head.resize(file.len(), 0);
    for at in 0..11_654 {
        let bit = 1 << (at * 7 % 8);
        head[at] ^= bit;
        if let Ok(gguf) = Gguf::read(&head) {
            assert!(gguf.tensors().all(|tensor| tensor.bytes.end <= head.len()), "byte {at}");
        }
        head[at] ^= bit;
    }
}
