//! What does a document consist of? Its id and its terms: no text, no positions, no lengths.

use std::sync::LazyLock;

use tantivy::IndexSettings;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;

/// The column with the document id; indexed too, so that a document can be removed by it.
pub(super) const DOC: &str = "doc";

const TERMS: &str = "terms";

pub(super) struct Fields {
    pub schema: Schema,
    pub doc: Field,
    pub terms: Field,
}

pub(super) static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    let mut schema = Schema::builder();
    let doc = schema.add_u64_field(DOC, NumericOptions::default() | INDEXED | FAST);
    // Takes a value as it is, as one term.
    let terms = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let terms = schema.add_text_field(TERMS, TextOptions::default().set_indexing_options(terms));
    Fields { schema: schema.build(), doc, terms }
});

/// Nothing is stored, so nothing needs compressing, nor a thread for it.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}
