//! Texts that are too long for one document: writing and reading their pieces.

use std::time::Duration;

use cosmonaut::Etag;
use duroxide::providers::ProviderError;

use super::{Batch, Call, Cause, Failure, Store};
use crate::join;
use crate::model::{Chunk, Document, Kind, PREPARED_TTL, Write, chunk_id};

/// How many pieces of a long text are under way at once.
const PIECES: usize = 4;
/// How long one of them is tried.
const PIECE_TIME: Duration = Duration::from_secs(30);

impl Store {
    /// A text that is partly in other documents, as a whole.
    pub(crate) async fn whole_text(
        &self,
        call: &Call,
        (partition, id): (&str, &str),
        text: String,
        chunks: u32,
    ) -> Result<String, ProviderError> {
        let mut whole = text;
        let ids: Vec<String> = (0..chunks).map(|n| chunk_id(id, n)).collect();
        for some in ids.chunks(PIECES) {
            let read = some.iter().map(|id| async move {
                // A long text may take longer than the call: each piece has its own time.
                let call = self.call(call.operation(), PIECE_TIME);
                self.read::<Chunk>(&call, partition, id).await
            });
            for (id, chunk) in some.iter().zip(join::all(read.collect()).await) {
                let Some(chunk) = chunk? else {
                    let message = format!("document {id:?} of instance {partition:?} is missing");
                    return Err(ProviderError::permanent(call.operation(), message));
                };
                whole.push_str(&chunk.content.text);
            }
        }
        Ok(whole)
    }

    /// Writes the pieces of a text before the document that they belong to; gives what its transaction has to do to
    /// keep them. Without one the service removes them after a while. A document of the same id has the same text.
    pub(crate) async fn write_chunks(
        &self,
        call: &Call,
        (partition, id): (&str, &str),
        pieces: Vec<String>,
    ) -> Result<Vec<Write>, ProviderError> {
        /// A transaction has room for so many, beside what else it does.
        const MOST: usize = Batch::MAX_WRITES / 2;
        let expires = pieces.len() <= MOST;
        let mut documents = Vec::with_capacity(pieces.len());
        for (n, text) in (0..).zip(pieces) {
            let mut document = Document::new(partition, chunk_id(id, n), Chunk { text });
            document.ttl = expires.then_some(PREPARED_TTL);
            documents.push(document);
        }
        for some in documents.chunks(PIECES) {
            let written = some.iter().map(|document| async move {
                let call = self.call(call.operation(), PIECE_TIME);
                match self.create(&call, document).await {
                    Ok(_) => Ok(()),
                    // An earlier attempt has written it.
                    Err(failure) if failure.cause() == Cause::Conflict => Ok(()),
                    Err(failure) => Err(failure.into_error(&call)),
                }
            });
            join::all(written.collect()).await.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(documents.into_iter().filter(|_| expires).map(|document| Write::keep(document.id)).collect())
    }

    /// Creates a document, and keeps the pieces of its text.
    pub(crate) async fn create_with<T: Kind + Sync>(
        &self,
        call: &Call,
        document: &Document<T>,
        kept: &[Write],
    ) -> Result<Option<Etag>, Failure> {
        if kept.is_empty() {
            return self.create(call, document).await;
        }
        let writes: Vec<_> = std::iter::once(Write::create(document)).chain(kept.iter().cloned()).collect();
        let batch = Batch { partition: &document.instance_id, guard: None, writes: &writes };
        let etags = self.batch(call, &batch).await?;
        Ok(etags.into_iter().next().flatten())
    }
}
