//! Gives vectors to what was stored without them: while a model was down, or before the model was changed.

use super::Sources;
use crate::change::{DocId, Seq};
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::store::{Standing, Vectors};

/// How many records are embedded between two commits.
const BATCH: usize = 64;

/// Embeds the next of what waits for a vector of the model in use, unless nothing was written since `upto`. Tells
/// up to which write nothing waits any more; none while something may.
pub fn embed_waiting(sources: Sources<'_>, upto: Seq) -> Result<Option<Seq>> {
    let Some(embedder) = sources.embedder else { return Ok(None) };
    let snapshot = sources.store.snapshot()?;
    let last = snapshot.last()?;
    if last == upto {
        return Ok(Some(last));
    }
    let info = embedder.model();
    let model = match snapshot.standing(&info.name, &info.fingerprint, info.dims)? {
        Standing::InUse(model) => model,
        Standing::First if last == Seq(0) => return Ok(None),
        // What was written while there was no model waits for the first one.
        Standing::First => sources
            .store
            .write(sources.now, |writing| writing.model(&info.name, &info.fingerprint, info.dims))?,
        Standing::Coming(_) => return Ok(None),
    };
    let batch = snapshot.pending(&model, DocId(0), BATCH)?;
    drop(snapshot);
    let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
    if texts.is_empty() {
        return Ok(Some(last));
    }
    let embedded = embedder.embed_passages(&texts)?;
    sources.store.write(sources.now, |writing| {
        // What has another width than the model says waits for a better answer.
        let fits = |parts: &Vec<Vec<f32>>| parts.iter().all(|vector| vector.len() == info.dims);
        for ((doc, _), parts) in batch.iter().zip(embedded).filter(|(_, parts)| fits(parts)) {
            writing.add_vectors(*doc, &Vectors { model: model.clone(), parts })?;
        }
        Ok(())
    })?;
    Ok(None)
}

/// Gives every record in force a vector of a model, and changes the store over to it; how many got one. Can
/// be interrupted and goes on where it was. `sources` gives the present instant, `progress` is told how many
/// of how many.
///
/// # Errors
/// `Embed` when the model fails; what was embedded until then is kept.
pub fn reembed<'s>(
    sources: impl Fn() -> Sources<'s>,
    embedder: &dyn Embedder,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64> {
    let info = embedder.model();
    let store = sources().store;
    let model =
        store.write(sources().now, |writing| writing.model(&info.name, &info.fingerprint, info.dims))?;
    let (mut done, all) = store.snapshot()?.coverage(&model)?;
    let (mut after, mut fresh) = (DocId(0), 0);
    loop {
        let batch = store.snapshot()?.pending(&model, after, BATCH)?;
        let Some((last, _)) = batch.last() else { break };
        after = *last;
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = embedder.embed_passages(&texts)?;
        if vectors.iter().flatten().any(|vector| vector.len() != info.dims) {
            return Err(Error::Embed("the model gave vectors of another width than its own".to_owned()));
        }
        store.write(sources().now, |writing| {
            for ((doc, _), parts) in batch.iter().zip(vectors) {
                writing.add_vectors(*doc, &Vectors { model: model.clone(), parts })?;
            }
            Ok(())
        })?;
        fresh += batch.len() as u64;
        done += batch.len() as u64;
        progress(done.min(all), all);
    }
    if !model.in_use {
        store.write(sources().now, |writing| writing.use_model(model.id))?;
    }
    Ok(fresh)
}
