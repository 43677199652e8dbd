//! Why a query cannot be spread over partitions.

use std::error::Error;
use std::fmt;

use cosmonaut_wire::model::InvalidPartitionKeyDefinition;

use super::hybrid::MOST_TERMS;
use crate::ast::{LARGEST_COUNT, Span};
use crate::check::WEIGHTS;
use crate::wording::Wording;

/// A query that has no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// An aggregate that is part of a larger expression, which no client can put together from its parts.
    Composition(String),
    /// A subquery in `FROM` that looks at several documents at once.
    Subquery,
    /// The weights of `RRF`: a parameter that is not an array of as many numbers as there are scores.
    Weights,
    /// A parameter of `FullTextScore` that is neither a term nor an array of terms, or an array of too many.
    Terms(String),
    /// `TOP`, `OFFSET` or `LIMIT` names a parameter that was not given.
    MissingParameter(String),
    /// `TOP`, `OFFSET` or `LIMIT` names a parameter that is not a whole number, or too large.
    NotACount(String),
    /// The container's partition key definition is not valid.
    Key(InvalidPartitionKeyDefinition),
}

impl PlanError {
    /// What the service says, where it is known.
    pub fn wording(&self) -> Wording {
        match self {
            PlanError::Composition(_) => {
                Wording::Plain("Compositions of aggregates and other expressions are not allowed.".into())
            }
            PlanError::Weights => Wording::coded("SC2229", Span::default(), WEIGHTS),
            PlanError::Subquery
            | PlanError::Terms(_)
            | PlanError::MissingParameter(_)
            | PlanError::NotACount(_)
            | PlanError::Key(_) => Wording::Plain(self.to_string().into()),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Composition(expression) => write!(
                f,
                "{expression} combines an aggregate with other expressions, which is not supported across \
                 partitions (select the aggregate alone)"
            ),
            PlanError::Subquery => f.write_str(
                "a FROM subquery with DISTINCT, TOP, aggregates, GROUP BY, ORDER BY or OFFSET is not supported \
                 across partitions (other than to count distinct values)",
            ),
            PlanError::Weights => f.write_str(WEIGHTS),
            PlanError::Terms(parameter) => {
                write!(
                    f,
                    "the parameter {parameter} of FullTextScore must be a string, a fuzzy term or an array of up to \
                     {MOST_TERMS} of these"
                )
            }
            PlanError::MissingParameter(name) => write!(f, "the parameter {name} was not given"),
            PlanError::NotACount(name) => {
                write!(f, "the parameter {name} must be a whole number from 0 to {LARGEST_COUNT}")
            }
            PlanError::Key(error) => write!(f, "the container's partition key is not valid: {error}"),
        }
    }
}

impl Error for PlanError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PlanError::Key(error) => Some(error),
            PlanError::Composition(_)
            | PlanError::Subquery
            | PlanError::Weights
            | PlanError::Terms(_)
            | PlanError::MissingParameter(_)
            | PlanError::NotACount(_) => None,
        }
    }
}

impl From<InvalidPartitionKeyDefinition> for PlanError {
    fn from(error: InvalidPartitionKeyDefinition) -> PlanError {
        PlanError::Key(error)
    }
}
