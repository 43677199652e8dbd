//! Texts of users: how they are stored, and the pieces of those that are too long for one document.

use std::time::Duration;

use cosmonaut::Etag;
use duroxide::providers::ProviderError;

use super::{Batch, Call, Cause, Failure, Store};
use crate::codec::{Texts, Unreadable, is_marked};
use crate::hub::told;
use crate::join;
use crate::model::{Chunk, Document, Kind, PREPARED_TTL, Write, chunk_id};

/// How many pieces of a long text are under way at once.
const PIECES: usize = 4;
/// How long one of them is tried.
const PIECE_TIME: Duration = Duration::from_secs(30);

/// Why a text cannot be read.
#[derive(Debug)]
pub(crate) enum TextFailure {
    /// The container does not answer.
    Unanswered(ProviderError),
    /// A part of it is lost or damaged, so that it can never be read.
    Lost(ProviderError),
    /// Its codec is not known here, or does not decode it. Another process may read it, or this one later.
    Sealed(ProviderError),
}

impl From<TextFailure> for ProviderError {
    fn from(failure: TextFailure) -> Self {
        match failure {
            TextFailure::Unanswered(error) | TextFailure::Lost(error) | TextFailure::Sealed(error) => error,
        }
    }
}

impl Store {
    /// How texts are stored.
    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// A text as it is stored.
    pub(crate) fn seal(&self, call: &Call, text: String) -> Result<String, ProviderError> {
        self.texts.seal(text).map_err(|error| ProviderError::retryable(call.operation(), error))
    }

    /// A text of a user, which may be partly in other documents.
    pub(crate) async fn read_text(
        &self,
        call: &Call,
        (partition, id): (&str, &str),
        text: String,
        chunks: u32,
    ) -> Result<String, TextFailure> {
        if chunks == 0 {
            return self.open(call, (partition, id), text);
        }
        let whole = self.whole_text(call, (partition, id), text.clone(), chunks).await;
        let whole = whole.map_err(|error| {
            if error.is_retryable() { TextFailure::Unanswered(error) } else { TextFailure::Lost(error) }
        })?;
        self.read_whole(call, (partition, id), &text, whole)
    }

    /// The text of a user that is stored so, `body` of it in the document itself. Only that says how the rest is stored.
    pub(crate) fn read_whole(
        &self,
        call: &Call,
        place: (&str, &str),
        body: &str,
        whole: String,
    ) -> Result<String, TextFailure> {
        if is_marked(body) { self.open(call, place, whole) } else { Ok(whole) }
    }

    /// The text of a user that is stored so in a document.
    pub(crate) fn open(
        &self,
        call: &Call,
        place: (&str, &str),
        stored: String,
    ) -> Result<String, TextFailure> {
        self.texts.open(stored).map_err(|why| unreadable(call, place, why))
    }

    /// As [`open`](Self::open), for those who only look: they may be told which codec has encoded the text.
    pub(crate) fn show(
        &self,
        call: &Call,
        place: (&str, &str),
        stored: String,
    ) -> Result<String, TextFailure> {
        self.texts.show(stored).map_err(|why| unreadable(call, place, why))
    }

    /// A text that is partly in other documents, as a whole, as it is stored.
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
                    let message = format!("document {id:?} of instance {:?} is missing", told(partition));
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

fn unreadable(call: &Call, (partition, id): (&str, &str), why: Unreadable) -> TextFailure {
    let error = |why: String| {
        let instance = told(partition);
        let message = format!("a text in document {id:?} of instance {instance:?} cannot be read: {why}");
        ProviderError::permanent(call.operation(), message)
    };
    match why {
        Unreadable::Damaged(why) => TextFailure::Lost(error(why)),
        Unreadable::Refused(why) => TextFailure::Sealed(error(why)),
        Unreadable::Encoded { codec } => TextFailure::Sealed(error(format!(
            "it is encoded by codec {codec:?}, which this process does not have (add it to \
             CosmosProviderConfig::codecs)"
        ))),
    }
}
