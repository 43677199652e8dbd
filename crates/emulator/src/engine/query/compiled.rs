//! A query made ready: parsed, checked, compiled, and what an index could do for it.

use cosmonaut_query::ast::{OrderBy, OrderKey, Query};
use cosmonaut_query::eval::{ComputedProperty, Environment, Limits, Place, Program};
use cosmonaut_query::plan::service_plan;
use cosmonaut_query::value::Value;
use cosmonaut_query::{Parameters, Setting, Wording, access, check, parse};
use cosmonaut_wire::model::{
    ContainerProperties, PartitionKeyDefinition, PartitionedQueryExecutionInfo, QuerySpec,
};

use super::index_filter;
use super::token::{Key, Token};
use crate::index::{Filter, IndexPath, OrderPart, Score, Term};
use crate::{Failure, World};

/// A query ready to run.
pub(super) struct Compiled {
    pub(super) query: Query,
    pub(super) parameters: Parameters,
    pub(super) program: Program,
    /// What every document with a row fulfils; `None` if nothing is known.
    pub(super) filter: Option<Filter>,
    /// What `ORDER BY` sorts by, where these are paths of stored documents.
    pub(super) order: Option<Vec<OrderPart>>,
    /// The score that `ORDER BY` sorts by, the best first, where it is one of a path of stored documents.
    pub(super) score: Option<Score>,
    /// The names of the container's computed properties.
    pub(super) computed: Vec<String>,
    /// What the container says of the values in its documents.
    pub(super) setting: Setting,
    /// The path of stored documents by whose value rows of `GROUP BY` or `DISTINCT` are placed first.
    pub(super) lead: Option<IndexPath>,
    /// Whether rows of two documents are never equal.
    shows_document: bool,
}

impl Compiled {
    pub(super) fn new(
        spec: &QuerySpec,
        properties: &ContainerProperties,
        world: &dyn World,
    ) -> Result<Compiled, Failure> {
        let computed = computed_properties(properties)?;
        Compiled::over(spec, &computed, Setting::of(properties), world)
    }

    /// A query over documents of no container.
    pub(super) fn over_list(spec: &QuerySpec, world: &dyn World) -> Result<Compiled, Failure> {
        Compiled::over(spec, &[], Setting::default(), world)
    }

    fn over(
        spec: &QuerySpec,
        computed: &[ComputedProperty],
        setting: Setting,
        world: &dyn World,
    ) -> Result<Compiled, Failure> {
        let (query, parameters) = read(spec)?;
        let environment = Environment {
            now_ticks: i64::try_from(world.now().0).unwrap_or(i64::MAX).saturating_mul(10),
            random: &|| (world.random() >> 11) as f64 / (1u64 << 53) as f64,
            limits: Limits::default(),
            computed,
            setting: &setting,
        };
        let program = Program::compile(&query, &parameters, &environment)
            .map_err(|error| Failure::bad_request(error.to_string()))?;
        let names: Vec<&str> = computed.iter().map(|property| property.name.as_str()).collect();
        let access = access::access(&query, &parameters);
        Ok(Compiled {
            program,
            filter: access
                .filter
                .as_ref()
                .and_then(|found| index_filter::from_access(found, &names, &setting)),
            order: access.order.as_deref().and_then(|found| index_filter::order_from_access(found, &names)),
            score: (access.score.as_ref())
                .and_then(|found| index_filter::score_from_access(found, &names, &setting)),
            lead: access.lead.as_ref().and_then(|path| index_filter::stored(path, &names)),
            shows_document: access.shows_document,
            computed: computed.iter().map(|property| property.name.clone()).collect(),
            setting,
            query,
            parameters,
        })
    }

    /// Whether a token can be one that a page of this query ended with.
    pub(super) fn accepts(&self, token: &Token) -> bool {
        let keys = self.directions().len();
        let positions = token.segments.iter().filter_map(|segment| segment.position.as_ref());
        if self.has_one_row() {
            return false;
        }
        if self.gives_by_place() {
            // What an order leads with is not looked for in an index.
            let can_lead = |place: &Place| self.program.is_ordered() || Term::is_sort_key(&place.lead);
            return token.segments.is_empty() && token.after.as_ref().is_some_and(can_lead);
        }
        if token.after.is_some() {
            return false;
        }
        positions.map(|position| &position.key).all(|key| match key {
            Key::Values(values) => keys > 0 && values.len() == keys,
            Key::Digest(_) => keys > 0,
            Key::Number | Key::Term(_) => keys == 0,
            Key::Composite(_) => false,
        })
    }

    /// Which keys of `ORDER BY` descend.
    pub(super) fn directions(&self) -> Vec<bool> {
        match &self.query.order_by {
            Some(OrderBy::Keys(keys)) => keys.iter().map(OrderKey::falls).collect(),
            Some(OrderBy::Rank(_)) | None => Vec::new(),
        }
    }

    /// Whether rows are sorted by a score.
    pub(super) fn is_scored(&self) -> bool {
        matches!(&self.query.order_by, Some(OrderBy::Keys(keys)) if keys.iter().any(OrderKey::is_score))
    }

    /// Whether the first key of `ORDER BY` descends.
    pub(super) fn first_key_descends(&self) -> bool {
        self.directions().first() == Some(&true)
    }

    /// Whether there is but one row: of aggregates over everything, or of no document.
    pub(super) fn has_one_row(&self) -> bool {
        self.program.is_one_group() || !self.program.reads_documents()
    }

    /// Whether rows of several documents make one, so that rows are given by their places.
    pub(super) fn gives_by_place(&self) -> bool {
        self.program.is_grouped() || (self.program.is_distinct() && !self.shows_document)
    }

    /// Whether any rows do, as long as they are different.
    pub(super) fn takes_any_rows(&self) -> bool {
        !self.program.is_grouped() && !self.program.is_ordered()
    }

    /// How a client would run this over many partitions, or why none could.
    pub(super) fn plan(
        &self,
        key: &PartitionKeyDefinition,
    ) -> Result<PartitionedQueryExecutionInfo, Failure> {
        planned(&self.query, &self.parameters, key, &self.setting)
    }
}

/// Whether a query has an `ORDER BY RANK`.
pub(super) fn is_ranked(spec: &QuerySpec) -> bool {
    // Most texts do not have the word, and need not be read twice.
    let may_be = spec.query.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"RANK"));
    may_be && parse(&spec.query).is_ok_and(|query| matches!(query.order_by, Some(OrderBy::Rank(_))))
}

/// The query and its parameters; 400 in the service's words if the query means nothing.
pub(super) fn read(spec: &QuerySpec) -> Result<(Query, Parameters), Failure> {
    let refused =
        |wording: &Wording| Failure::bad_request(format!("Message: {}", wording.to_json(&spec.query)));
    let query = parse(&spec.query).map_err(|error| refused(error.wording()))?;
    check(&query, &spec.query).map_err(|error| refused(error.wording()))?;
    Ok((query, parameters(spec)?))
}

/// The plan of a query. It needs no values for parameters.
pub(super) fn planned(
    query: &Query,
    parameters: &Parameters,
    key: &PartitionKeyDefinition,
    setting: &Setting,
) -> Result<PartitionedQueryExecutionInfo, Failure> {
    service_plan(query, parameters, key, setting).map_err(|error| {
        // The text is looked at for places only, and plans have none.
        Failure::bad_request(format!("Message: {}", error.wording().to_json("")))
    })
}

fn computed_properties(properties: &ContainerProperties) -> Result<Vec<ComputedProperty>, Failure> {
    let defined = properties.computed_properties.as_deref().unwrap_or_default();
    let parsed = defined.iter().map(|property| match parse(&property.query) {
        Ok(query) => Ok(ComputedProperty { name: property.name.clone(), query }),
        Err(error) => Err(Failure::bad_request(format!("computed property {:?}: {error}", property.name))),
    });
    parsed.collect()
}

fn parameters(spec: &QuerySpec) -> Result<Parameters, Failure> {
    let mut parameters = Parameters::new();
    for parameter in &spec.parameters {
        let value = Value::from_json(parameter.value.get().as_bytes()).map_err(|error| {
            Failure::bad_request(format!("the value of the query parameter {:?}: {error}", parameter.name))
        })?;
        parameters.insert(&parameter.name, value);
    }
    Ok(parameters)
}
