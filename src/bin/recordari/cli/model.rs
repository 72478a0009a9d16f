//! `recordari model`: which embedding model is used, and which there are.

use clap::Subcommand;
use recordari::Error;
use recordari::embed::{ModelInfo, ModelSpec};
use serde_json::{Value, json};

use super::init::change;
use super::open::Session;
use super::{Common, Failure, Out};
use crate::lazy::Lazy;
use crate::settings::{CONFIG_FILE, Settings};

#[derive(Subcommand)]
pub enum Command {
    /// Show the model in use, and the one that made the store's vectors
    #[command(after_help = "Example:\n  recordari model show")]
    Show,
    /// List the models that can be used
    #[command(after_help = "With --json: one model a line.\n\nExample:\n  recordari model list")]
    List,
    /// Make a model the one that this store uses
    #[command(
        after_help = "MODEL is embedded, none, a folder (GGUF or ONNX), or an address with the model's name behind #;\ndocs/MODELS.md tells more. A key for an address is taken from RECORDARI_API_KEY.\n\nExamples:\n  recordari model use embedded\n  recordari model use 'http://localhost:11434/v1#nomic-embed-text'"
    )]
    Use {
        /// The model
        model: String,
    },
}

pub fn run(common: &Common, command: Command, out: &mut Out) -> Result<u8, Failure> {
    match command {
        Command::Show => show(common, out),
        Command::List => list(common, out),
        Command::Use { model } => use_model(common, &model, out),
    }
}

fn show(common: &Common, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::without_model(common, out)?;
    let choice = &session.settings.model;
    let info = Lazy::info(choice)?;
    let of_store = session.memory.stats(&session.principal)?["model"].clone();
    let made_by = of_store["fingerprint"].as_str();
    let fits = match (&info, made_by) {
        (Some(info), Some(made_by)) => info.fingerprint == made_by,
        _ => true,
    };
    if out.is_json() {
        out.json(&json!({
            "outcome": "found",
            "reason": null,
            "model": info.as_ref().map(|info| described(choice, info)),
            "store": of_store,
            "fits": fits,
        }))?;
        return Ok(0);
    }
    match &info {
        Some(info) => out.line(format!(
            "in use    {} · {} dimensions · {} · {}",
            info.name,
            info.dims,
            info.fingerprint,
            place(choice)
        ))?,
        None => out.line("in use    none: search goes by keyword alone")?,
    }
    match (of_store["name"].as_str(), made_by) {
        (Some(name), Some(made_by)) => {
            out.line(format!("in store  {name} · {} dimensions · {made_by}", of_store["dims"]))?;
        }
        _ => out.line("in store  no vectors yet")?,
    }
    if !fits {
        out.line("They differ: run recordari reembed to change over, or use the store's.")?;
    }
    Ok(0)
}

fn list(common: &Common, out: &mut Out) -> Result<u8, Failure> {
    let chosen = Settings::of(common)?.model;
    let mut choices = vec![ModelSpec::Embedded, ModelSpec::None];
    if !choices.contains(&chosen) {
        choices.push(chosen.clone());
    }
    for choice in choices {
        let info = Lazy::info(&choice)?;
        let in_use = choice == chosen;
        let place = place(&choice);
        if out.is_json() {
            let mut model = info
                .as_ref()
                .map_or_else(|| json!({ "name": null, "place": place }), |info| described(&choice, info));
            model["in_use"] = json!(in_use);
            out.json(&model)?;
            continue;
        }
        let mark = if in_use { '*' } else { ' ' };
        match info {
            Some(info) => out.line(format!("{mark} {} · {} dimensions · {place}", info.name, info.dims))?,
            None => out.line(format!("{mark} {place}: search by keyword alone"))?,
        }
    }
    if !out.is_json() {
        out.line("Any other: recordari model use FOLDER or ADDRESS#NAME, then recordari reembed; see docs/MODELS.md.")?;
    }
    Ok(0)
}

/// Writes the model into the store's settings, once it has been seen to work.
fn use_model(common: &Common, text: &str, out: &mut Out) -> Result<u8, Failure> {
    let mut spec = ModelSpec::parse(text)?;
    let mut setting = text.trim().to_owned();
    if let ModelSpec::Folder(folder) = &spec {
        let folder = std::path::absolute(folder).map_err(Error::io(folder))?;
        setting = folder.display().to_string();
        spec = ModelSpec::Folder(folder);
    }
    let info = Lazy::info(&spec)?;
    let session = Session::without_model(common, out)?;
    let config = session.settings.store.join(CONFIG_FILE);
    change(&config, &[("model", setting)])?;
    if out.is_json() {
        let model = info.as_ref().map(|info| described(&spec, info));
        out.json(&json!({ "outcome": "changed", "reason": null, "model": model, "config": config.display().to_string() }))?;
        return Ok(0);
    }
    out.line(format!("The store uses {} from now on ({}).", place(&spec), config.display()))?;
    if info.is_some() {
        out.line("Run recordari reembed, so that what is remembered has its vectors; until then recall goes by keyword.")?;
    }
    Ok(0)
}

fn described(choice: &ModelSpec, info: &ModelInfo) -> Value {
    json!({ "name": info.name, "dims": info.dims, "fingerprint": info.fingerprint, "place": place(choice) })
}

fn place(choice: &ModelSpec) -> String {
    match choice {
        ModelSpec::Embedded => "embedded".to_owned(),
        ModelSpec::Folder(folder) => folder.display().to_string(),
        ModelSpec::Http(options) => options.url.clone(),
        ModelSpec::None => "none".to_owned(),
    }
}
