//! `recordari init`: creates a store and writes its settings down.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use recordari::{CipherKey, Error};
use serde_json::json;

use super::open::Session;
use super::{Common, Failure, Out};
use crate::settings::{CONFIG_FILE, Settings, user_config};

#[derive(Args)]
#[command(
    after_help = "Writes the settings given as flags or in the environment into config.toml in the store's folder.\n\nExample:\n  recordari init --store ./memory --tenant acme --user mei --default\n  recordari init --store ./memory --new-cipher-key ~/keys/memory.key"
)]
pub struct Arguments {
    /// Also make this store the one that is used when none is named
    #[arg(long)]
    default: bool,
    /// Encrypt the store at rest, with a new key that is written to this file; without it nothing can be read again
    #[arg(long, value_name = "FILE", conflicts_with = "cipher_key_file")]
    new_cipher_key: Option<PathBuf>,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let mut common = common.clone();
    if let Some(file) = &arguments.new_cipher_key {
        begin_encrypted(&common, file)?;
        common.cipher_key_file = Some(file.clone());
    }
    let common = &common;
    let session = Session::without_model(common, out)?;
    let store = std::path::absolute(&session.settings.store).map_err(Error::io(&session.settings.store))?;
    let model = |text: &str| match text {
        "none" | "embedded" => text.to_owned(),
        address if address.contains("://") => address.to_owned(),
        path => absolute(Path::new(path)),
    };
    let given = [
        ("tenant", common.tenant.clone()),
        ("user", common.user.clone()),
        ("project", common.project.clone()),
        ("agent", common.agent.clone()),
        ("clearance", common.clearance.map(|clearance| clearance.to_string())),
        ("policy", common.policy.as_ref().map(|path| absolute(path))),
        ("model", common.model.as_deref().map(model)),
        ("cipher_key_file", common.cipher_key_file.as_deref().map(absolute)),
    ];
    let given: Vec<(&str, String)> = given
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.filter(|text| !text.is_empty())?)))
        .collect();
    let config = store.join(CONFIG_FILE);
    change(&config, &given)?;
    let mut default = None;
    if arguments.default {
        let file = user_config()?;
        change(&file, &[("store", store.display().to_string())])?;
        default = Some(file);
    }
    if out.is_json() {
        out.json(&json!({
            "outcome": if session.created { "created" } else { "exists" },
            "reason": null,
            "store": store.display().to_string(),
            "config": config.display().to_string(),
            "cipher_key_file": common.cipher_key_file.as_deref().map(absolute),
            "default_in": default.map(|file| file.display().to_string()),
        }))?;
        return Ok(0);
    }
    let what = if session.created { "created" } else { "was there already" };
    out.line(format!("The store in {} {what}.", store.display()))?;
    out.line(format!("Its settings are in {}; flags and environment come before them.", config.display()))?;
    if let Some(file) = &common.cipher_key_file {
        out.line(format!(
            "It is encrypted with the key in {}: keep a copy apart, without it nothing can be read.",
            absolute(file)
        ))?;
    }
    match default {
        Some(file) => out.line(format!("It is used when no store is named ({}).", file.display()))?,
        None if common.store.is_some() => out.line(format!(
            "Name it with --store {} or RECORDARI_STORE, or run init again with --default.",
            store.display()
        ))?,
        None => {}
    }
    Ok(0)
}

/// Writes a new key for a store that is not there yet.
fn begin_encrypted(common: &Common, file: &Path) -> Result<(), Failure> {
    let wrong = |what: String| Failure::from(Error::invalid("new-cipher-key", what));
    let store = Settings::of(common)?.store;
    let holds = |name: &str| std::fs::metadata(store.join(name)).is_ok_and(|file| file.len() > 0);
    if ["recordari.db", "store.key", "ledger.db"].into_iter().any(holds) {
        return Err(wrong(format!(
            "is for a new store, and there is one in {}: back it up, and restore the copy with --new-cipher-key",
            store.display()
        )));
    }
    may_hold_key(file, &store)?;
    CipherKey::generate()?.write(file)?;
    // Before the store is made: what is begun without its key at hand would not be encrypted.
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&store).map_err(Error::io(&store))?;
    change(&store.join(CONFIG_FILE), &[("cipher_key_file", absolute(file))])
}

/// Whether a new key may be written to a file: there is none yet, and it does not lie beside what it protects.
pub(super) fn may_hold_key(file: &Path, store: &Path) -> Result<(), Failure> {
    let wrong = |what: String| Failure::from(Error::invalid("new-cipher-key", what));
    if !CipherKey::SUPPORTED {
        return Err(wrong(
            "can't be used by this build: build recordari with the feature sqlcipher".to_owned(),
        ));
    }
    if file.exists() {
        return Err(wrong(format!(
            "is for a new key, and {0} is there: go on with --cipher-key-file {0}, or name another file",
            file.display()
        )));
    }
    let above = file.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    if real(above).map_err(Error::io(above))?.starts_with(real(store).map_err(Error::io(store))?) {
        return Err(wrong("must not lie in the store's folder, which it protects".to_owned()));
    }
    Ok(())
}

/// A path as it is from anywhere.
pub(super) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Sets these keys in a configuration file and leaves the others as they are.
pub(super) fn change(file: &Path, values: &[(&str, String)]) -> Result<(), Failure> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::io(file)(error).into()),
    };
    let invalid = |what: String| Error::io(file)(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| invalid(error.to_string()))?;
    for (key, value) in values {
        table.insert((*key).to_owned(), toml::Value::String(value.clone()));
    }
    let body = toml::to_string(&table).map_err(|error| invalid(error.to_string()))?;
    let text = format!("# Settings of recordari; see docs/CLI.md.\n{body}");
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(file).map_err(Error::io(file))?;
    opened.write_all(text.as_bytes()).map_err(Error::io(file))?;
    Ok(())
}
