//! Opens the memory of a command, with or without a model, and tells the person what opening found.

use std::sync::Arc;

use recordari::{Embedder, Memory, Options, Principal};

use super::{Common, Failure, Out};
use crate::lazy::Lazy;
use crate::settings::Settings;

/// An open memory and who asks it.
pub struct Session {
    /// The memory.
    pub memory: Memory,
    /// Who asks.
    pub principal: Principal,
    /// The settings it was opened with.
    pub settings: Settings,
    /// Whether the store was created.
    pub created: bool,
    model: Option<Arc<Lazy>>,
}

impl Session {
    /// For commands that embed nothing.
    pub fn without_model(common: &Common, out: &Out) -> Result<Session, Failure> {
        Session::open(Settings::of(common)?, None, out)
    }

    /// For commands that may embed; the model is loaded when it is needed.
    pub fn with_model(common: &Common, out: &Out) -> Result<Session, Failure> {
        let settings = Settings::of(common)?;
        // A model that can't be used costs vectors, never a write; reembed makes up for it.
        let model = Lazy::open(&settings.model).unwrap_or_else(|error| {
            out.notice(format!("{error}; going on by keyword alone, see recordari model show"));
            None
        });
        Session::open(settings, model, out)
    }

    fn open(settings: Settings, model: Option<Arc<Lazy>>, out: &Out) -> Result<Session, Failure> {
        let (memory, opening) = Memory::open(Options {
            embedder: model.clone().map(|model| model as Arc<dyn Embedder>),
            policy: settings.policy(),
            // A command is over before a background thread could be of use.
            background: false,
            ..Options::new(&settings.store)
        })?;
        for notice in &opening.notices {
            out.notice(notice);
        }
        let principal = settings.principal.clone();
        Ok(Session { memory, principal, settings, created: opening.created, model })
    }

    /// Tells the person if the model failed on the way, and what that means.
    pub fn report_model(&self, out: &Out, meaning: &str) {
        if let Some(failure) = self.model.as_ref().and_then(|model| model.failure()) {
            out.notice(format!("{failure}; {meaning}"));
        }
    }
}
