//! Running queries over the replicas of a container, a page at a time.
//!
//! A query is compiled, its documents are found through the index where that is worth it, and every document is tested
//! by the compiled query, so the index decides about cost and never about results. Queries that need results of several
//! partitions put together are left to the client, with a plan.

mod compiled;
mod feeder;
mod functions;
mod index_filter;
mod long_keys;
mod metrics;
mod order_choice;
mod over_list;
mod page;
mod page_rows;
mod parts;
mod placed_rows;
mod plan;
mod rank;
mod request;
mod resume;
mod scored;
mod searches;
mod sort_candidates;
mod source;
mod stream;
#[cfg(test)]
mod tests;
mod text_counts;
mod ties;
mod token;
mod walk;
mod whole_result;

pub use functions::{Callable, QueryFunctions};
#[cfg(feature = "scripts")]
pub(crate) use over_list::run_over_items;
pub use over_list::{FeedQuery, FeedQueryPage};
pub(crate) use over_list::{list_over, run_over};
pub use plan::{QueryFeatures, plan};
pub use request::{IndexMetrics, PageSize, QueryPage, QueryRequest};
pub use resume::ResumeFilter;
pub use ties::TieOrder;

use cosmonaut_wire::model::ContainerProperties;

use super::{Container, Layout, RegionId};
use crate::{Failure, World};
use compiled::Compiled;
use page::{PageRun, Work};
use parts::Parts;
use token::Token;

/// Answers one page of a query.
pub fn run(
    container: &Container,
    region: RegionId,
    request: &QueryRequest,
    world: &dyn World,
) -> Result<QueryPage, Failure> {
    run_within(&container.properties(), &container.layout(), region, request, world)
}

/// The same, with what is needed of the container.
fn run_within(
    properties: &ContainerProperties,
    layout: &Layout,
    region: RegionId,
    request: &QueryRequest,
    world: &dyn World,
) -> Result<QueryPage, Failure> {
    if compiled::is_ranked(&request.spec) {
        return rank::run(rank::Place { properties, layout, region, world }, request);
    }
    run_plain(properties, layout, region, request, world).map(|(page, _)| page)
}

/// The same for a query that is not ranked, with what the page says of how it was made.
fn run_plain(
    properties: &ContainerProperties,
    layout: &Layout,
    region: RegionId,
    request: &QueryRequest,
    world: &dyn World,
) -> Result<(QueryPage, Work), Failure> {
    let started = world.now();
    let mut compiled = Compiled::new(&request.spec, properties, world)?;
    compiled.program =
        request.functions.in_program(compiled.program.interrupted_by(request.pace.interrupt()))?;
    if let Some(resume) = &request.resume {
        resume.check(compiled.directions().len())?;
    }
    let mut token = request.continuation.as_deref().map(|text| token_of(text, &compiled)).transpose()?;
    if let Some(token) = &mut token {
        long_keys::resolve(token, &compiled.program, layout, region)?;
    }
    let resolved = request.scope.resolve(layout, &properties.partition_key)?;
    let plan = compiled.plan(&properties.partition_key);
    let together = compiled.program.is_ordered();
    let parts = Parts::new(resolved, plan.as_ref().ok(), token.as_ref(), together);
    plan::check_servable(request, &compiled, &parts, plan)?;

    let mut page = PageRun::new(&compiled, request, token.as_ref(), &properties.partition_key, world.now());
    page.run(parts, region).map_err(|failure| request.functions.told(failure))?;
    Ok(page.finish(started, world.now()))
}

fn token_of(text: &str, compiled: &Compiled) -> Result<Token, Failure> {
    let token = Token::read(text)?;
    if compiled.accepts(&token) { Ok(token) } else { Err(token::refused(text)) }
}
