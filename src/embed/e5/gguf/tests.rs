//! Whatever the bytes are, reading them ends with a table of contents inside the file or with an error.

use super::*;

/// A small file with a setting of every type and two tensors.
fn sample() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let setting = |key: &str, kind: u32, value: &[u8]| [&text(key), &kind.to_le_bytes()[..], value].concat();
    let list = [&8u32.to_le_bytes()[..], &2u64.to_le_bytes(), &text("a"), &text("bc")].concat();
    let tensor = |name: &str, shape: &[u64], kind: u32, offset: u64| {
        let shape: Vec<u8> = shape.iter().flat_map(|side| side.to_le_bytes()).collect();
        let dimensions = (shape.len() as u32 / 8).to_le_bytes();
        [&text(name), &dimensions[..], &shape, &kind.to_le_bytes(), &offset.to_le_bytes()].concat()
    };
    let mut file = [
        &b"GGUF"[..],
        &3u32.to_le_bytes(),
        &2u64.to_le_bytes(),
        &7u64.to_le_bytes(),
        &setting("byte", 0, &[7]),
        &setting("negative", 5, &(-1i32).to_le_bytes()),
        &setting("count", 4, &12u32.to_le_bytes()),
        &setting("epsilon", 6, &0.5f32.to_le_bytes()),
        &setting("flag", 7, &[1]),
        &setting("name", 8, &text("bert")),
        &setting("list", 9, &list),
        &tensor("floats", &[4, 2], 0, 0),
        &tensor("blocks", &[64, 1], 2, 32),
    ]
    .concat();
    file.resize(file.len().next_multiple_of(32) + 32 + 36, 0);
    file
}

#[test]
fn settings_and_tensors_are_found() {
    let file = sample();
    let gguf = Gguf::read(&file).unwrap();
    assert_eq!(gguf.integer("byte").unwrap(), 7);
    assert_eq!(gguf.integer("count").unwrap(), 12);
    assert_eq!(gguf.float("epsilon").unwrap(), 0.5);
    assert_eq!(gguf.text("name").unwrap(), "bert");
    assert!(
        gguf.integer("negative").is_err() && gguf.integer("list").is_err() && gguf.integer("no").is_err()
    );
    assert_eq!(gguf.tensor("floats", TensorFormat::F32, &[4, 2]).unwrap().bytes.len(), 32);
    assert_eq!(gguf.tensor("blocks", TensorFormat::Q4, &[64, 1]).unwrap().bytes.end, file.len());
    assert_eq!(gguf.shape("floats").unwrap(), [4, 2]);
    assert!(gguf.tensor("floats", TensorFormat::F32, &[2, 4]).is_err());
    assert!(gguf.tensor("floats", TensorFormat::Q4, &[4, 2]).is_err());
    assert!(gguf.tensor("none", TensorFormat::F32, &[4, 2]).is_err());
}

#[test]
fn a_cut_file_is_an_error() {
    let file = sample();
    for length in 0..file.len() {
        assert!(matches!(Gguf::read(&file[..length]), Err(Error::Embed(_))), "{length} bytes");
    }
}

#[test]
fn a_flipped_bit_never_leads_out_of_the_file() {
    let file = sample();
    for bit in 0..file.len() * 8 {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        if let Ok(gguf) = Gguf::read(&file) {
            assert!(gguf.tensors().all(|tensor| tensor.bytes.end <= file.len()), "bit {bit}");
        }
    }
}

#[test]
fn random_bytes_after_the_magic_are_survived() {
    let mut numbers = crate::simd::testing::Numbers::new(14);
    for _ in 0..2000 {
        let mut file = [&b"GGUF"[..], &3u32.to_le_bytes(), &1u64.to_le_bytes(), &1u64.to_le_bytes()].concat();
        file.extend(
            (0..200)
                .map(|_| numbers.next() as u8 & if numbers.next().is_multiple_of(4) { 0xff } else { 0x0f }),
        );
        let _ = Gguf::read(&file);
    }
}

#[test]
fn lists_are_not_followed_for_ever() {
    let mut file = [&b"GGUF"[..], &3u32.to_le_bytes(), &0u64.to_le_bytes(), &1u64.to_le_bytes()].concat();
    file.extend(0u64.to_le_bytes());
    file.extend(9u32.to_le_bytes());
    for _ in 0..100_000 {
        file.extend(9u32.to_le_bytes());
        file.extend(1u64.to_le_bytes());
    }
    assert!(Gguf::read(&file).unwrap_err().to_string().contains("deep"));
}
