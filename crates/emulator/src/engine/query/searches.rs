//! What an index over texts or vectors is asked, a slice at a time: writes have their turn between two slices, and the
//! work ends when nobody waits for it.
//!
//! Documents that are written meanwhile are added to what is found, as the query looks at all of them for itself.

use std::ops::Bound;

use cosmonaut_query::eval::EvalError;
use cosmonaut_query::search::Language;
use cosmonaut_query::value::Value;

use super::page::eval_error;
use crate::Failure;
use crate::engine::{Progress, Replica, ReplicaState};
use crate::index::{
    Bounded, Ended, Filter, Found, Hits, IndexPath, Score, Source, TextFilter, Texts, text_search,
};
use crate::pace::{Next, Pace};

/// A replica that is looked at in slices.
#[derive(Clone, Copy)]
pub(super) struct Slices<'p> {
    pub(super) replica: &'p Replica,
    pub(super) pace: &'p Pace,
}

impl Slices<'_> {
    /// Looks for a moment.
    pub(super) fn look<T>(self, look: impl FnOnce(&ReplicaState) -> T) -> Result<T, Failure> {
        match self.pace.next() {
            Next::Stop => Err(eval_error(EvalError::Interrupted)),
            Next::GoOn | Next::EndPage => Ok(self.replica.read(look)),
        }
    }

    /// A filter with what the index finds of its texts.
    pub(super) fn find_texts(self, filter: &Filter) -> Result<Filter, Failure> {
        filter.with_texts(&mut |text| self.find(text))
    }

    fn find(self, text: &TextFilter) -> Result<Found, Failure> {
        let TextFilter { path, language, terms, all } = text;
        let start = self
            .look(|state| state.index().texts(path, *language).is_some().then(|| state.progress().clone()))?;
        let Some(start) = start else { return Ok(Found::NotIndexed) };
        let found = text_search::documents(&mut self.texts(path, *language), terms, *language, *all);
        let Some(mut found) = Ended::known(found)? else { return Ok(Found::Unknown) };
        found.extend(self.written_since(&start)?);
        found.sort_unstable();
        found.dedup();
        Ok(Found::Documents(found))
    }

    /// In how many documents a term is; none if the index cannot tell.
    pub(super) fn hits(
        self,
        path: &IndexPath,
        language: Language,
        term: &Value,
    ) -> Result<Option<Hits>, Failure> {
        Ended::known(text_search::hits(&mut self.texts(path, language), path, term, language))
    }

    /// Every document that has a score, with a bound of it; none if the index cannot tell.
    pub(super) fn bounds(self, score: &Score) -> Result<Option<Vec<Bounded>>, Failure> {
        let start = self.look(|state| state.progress().clone())?;
        let bounds = match score {
            Score::Vector { .. } => self.vector_bounds(score)?,
            Score::Text { path, language, terms, hits, corpus } => {
                let mut texts = self.texts(path, *language);
                Ended::known(text_search::bounds(&mut texts, terms, hits, *corpus, *language))?
            }
        };
        let Some(mut bounds) = bounds else { return Ok(None) };
        // They come by number. Of what was written meanwhile nothing is known.
        let mut new = Vec::new();
        for number in self.written_since(&start)? {
            match bounds.binary_search_by_key(&number, |bounded| bounded.number) {
                Ok(at) => bounds[at].bound = f64::INFINITY,
                Err(_) => new.push(Bounded { bound: f64::INFINITY, number }),
            }
        }
        bounds.extend(new);
        Ok(Some(bounds))
    }

    fn vector_bounds(self, score: &Score) -> Result<Option<Vec<Bounded>>, Failure> {
        let Score::Vector { path, vector, metric } = score else { return Ok(None) };
        let (mut all, mut after) = (Vec::new(), Bound::Unbounded);
        loop {
            let slice =
                self.look(|state| Some(state.index().vectors(path)?.bounds_after(after, vector, *metric)))?;
            let Some(slice) = slice else { return Ok(None) };
            let Some(last) = slice.last() else { return Ok(Some(all)) };
            after = Bound::Excluded(last.number);
            all.extend(slice);
        }
    }

    /// The documents that were written after a point.
    fn written_since(self, start: &Progress) -> Result<Vec<u64>, Failure> {
        self.look(|state| {
            if state.progress() == start {
                return Vec::new();
            }
            state.changed_after(start).map(|document| document.number).collect()
        })
    }

    fn texts<'s>(self, path: &'s IndexPath, language: Language) -> SlicedTexts<'s>
    where
        Self: 's,
    {
        SlicedTexts { slices: self, path, language }
    }
}

/// The texts at a path of a replica.
struct SlicedTexts<'s> {
    slices: Slices<'s>,
    path: &'s IndexPath,
    language: Language,
}

impl Source for SlicedTexts<'_> {
    fn look<T>(&mut self, look: impl FnOnce(&Texts) -> T) -> Result<T, Ended> {
        let found = self.slices.look(|state| state.index().texts(self.path, self.language).map(look))?;
        // The policy may have been replaced since the last look.
        found.ok_or(Ended::Unknown)
    }
}
