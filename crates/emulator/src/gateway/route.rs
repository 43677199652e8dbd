//! Which operation a request asks for: the one table of methods, kinds of resources and headers.
//!
//! It decides from the request's outline alone; whether the resource exists is found out by the handler.

use cosmonaut_wire::{CosmosStatus, ResourcePath, ResourceType, headers};
use http::{HeaderMap, Method};

use super::action::Action;
use crate::Failure;

/// Finds the operation; a method that the resource does not have is 405.
pub(super) fn route(method: &Method, path: &ResourcePath, headers: &HeaderMap) -> Result<Action, Failure> {
    // A HEAD is a GET whose body the server leaves out.
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let found = match path.kind() {
        ResourceType::DatabaseAccount => (method == Method::GET).then_some(Action::ReadAccount),
        ResourceType::Database if path.is_feed() => {
            feed(method, headers, [Action::ListDatabases, Action::QueryDatabases, Action::CreateDatabase])
        }
        ResourceType::Database => single(method, Action::ReadDatabase, None, Some(Action::DeleteDatabase)),
        ResourceType::Container if path.is_feed() => {
            feed(method, headers, [Action::ListContainers, Action::QueryContainers, Action::CreateContainer])
        }
        ResourceType::Container => single(
            method,
            Action::ReadContainer,
            Some(Action::ReplaceContainer),
            Some(Action::DeleteContainer),
        ),
        ResourceType::Document if path.is_feed() => items(method, headers),
        ResourceType::Document if method == Method::PATCH => Some(Action::PatchItem),
        ResourceType::Document => {
            single(method, Action::ReadItem, Some(Action::ReplaceItem), Some(Action::DeleteItem))
        }
        ResourceType::PartitionKeyRange => {
            (method == Method::GET && path.is_feed()).then_some(Action::ListRanges)
        }
        ResourceType::Offer if path.is_feed() => match feed_request(method, headers) {
            FeedRequest::List => Some(Action::ListOffers),
            FeedRequest::Query => Some(Action::QueryOffers),
            FeedRequest::Create | FeedRequest::Other => None,
        },
        ResourceType::Offer => single(method, Action::ReadOffer, Some(Action::ReplaceOffer), None),
        ResourceType::Conflict if path.is_feed() => match feed_request(method, headers) {
            FeedRequest::List => Some(Action::ListConflicts),
            FeedRequest::Query => Some(Action::QueryConflicts),
            FeedRequest::Create | FeedRequest::Other => None,
        },
        ResourceType::Conflict => single(method, Action::ReadConflict, None, Some(Action::DeleteConflict)),
        ResourceType::Operation => operation(method, path),
        kind @ (ResourceType::StoredProcedure
        | ResourceType::Trigger
        | ResourceType::UserDefinedFunction
        | ResourceType::User
        | ResourceType::Permission
        | ResourceType::ClientEncryptionKey) => resource(method, headers, kind, path.is_feed()),
    };
    found.ok_or_else(|| {
        Failure::new(
            CosmosStatus::METHOD_NOT_ALLOWED,
            format!("The requested verb is not supported. {method} does not apply to {path}"),
        )
    })
}

enum FeedRequest {
    List,
    Query,
    Create,
    Other,
}

fn feed_request(method: &Method, headers: &HeaderMap) -> FeedRequest {
    match *method {
        Method::GET => FeedRequest::List,
        Method::POST if is_query(headers) => FeedRequest::Query,
        Method::POST => FeedRequest::Create,
        _ => FeedRequest::Other,
    }
}

fn feed(method: &Method, headers: &HeaderMap, [list, query, create]: [Action; 3]) -> Option<Action> {
    match feed_request(method, headers) {
        FeedRequest::List => Some(list),
        FeedRequest::Query => Some(query),
        FeedRequest::Create => Some(create),
        FeedRequest::Other => None,
    }
}

fn single(method: &Method, read: Action, replace: Option<Action>, delete: Option<Action>) -> Option<Action> {
    match *method {
        Method::GET => Some(read),
        Method::PUT => replace,
        Method::DELETE => delete,
        _ => None,
    }
}

/// A POST to the items of a container says in its headers what it is.
fn items(method: &Method, headers: &HeaderMap) -> Option<Action> {
    let flag = |name| headers.get(name).is_some_and(|value| headers::is_true(value.as_bytes()));
    match *method {
        Method::GET if headers.contains_key(headers::A_IM) => Some(Action::ReadChanges),
        Method::GET => Some(Action::ListItems),
        Method::POST if flag(headers::IS_QUERY_PLAN_REQUEST) => Some(Action::PlanQuery),
        Method::POST if flag(headers::IS_BATCH_REQUEST) => Some(Action::Batch),
        Method::POST if is_query(headers) => Some(Action::QueryItems),
        Method::POST if flag(headers::IS_UPSERT) => Some(Action::UpsertItem),
        Method::POST => Some(Action::CreateItem),
        _ => None,
    }
}

fn operation(method: &Method, path: &ResourcePath) -> Option<Action> {
    let name = path.plain().rsplit('/').next().unwrap_or_default();
    (method == Method::POST && name.eq_ignore_ascii_case("partitionkeydelete"))
        .then_some(Action::DeleteByPartitionKey)
}

/// Scripts, users, permissions and client encryption keys.
fn resource(method: &Method, headers: &HeaderMap, kind: ResourceType, is_feed: bool) -> Option<Action> {
    let is_upsert = headers.get(headers::IS_UPSERT).is_some_and(|value| headers::is_true(value.as_bytes()));
    match (feed_request(method, headers), kind) {
        _ if !is_feed && method == Method::POST => {
            (kind == ResourceType::StoredProcedure).then_some(Action::ExecuteProcedure)
        }
        _ if !is_feed => {
            single(method, Action::ReadResource, Some(Action::ReplaceResource), Some(Action::DeleteResource))
        }
        (FeedRequest::List, _) => Some(Action::ListResources),
        (FeedRequest::Query, _) => Some(Action::QueryResources),
        (FeedRequest::Create, ResourceType::ClientEncryptionKey) if is_upsert => None,
        (FeedRequest::Create, _) if is_upsert => Some(Action::UpsertResource),
        (FeedRequest::Create, _) => Some(Action::CreateResource),
        (FeedRequest::Other, _) => None,
    }
}

/// Clients say it by a header or by the content type, and most by both.
fn is_query(headers: &HeaderMap) -> bool {
    let by_type = headers
        .get(http::header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/query+json"));
    by_type || headers.get(headers::IS_QUERY).is_some_and(|value| headers::is_true(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn find(method: &str, path: &str, headers: &[(HeaderName, &'static str)]) -> Result<Action, u16> {
        let headers =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        route(&method, &ResourcePath::parse(path).unwrap(), &headers)
            .map_err(|failure| failure.status.code().as_u16())
    }

    #[test]
    fn each_method_and_resource_has_its_operation() {
        use Action::*;
        for (request, expected) in [
            ("GET /", Ok(ReadAccount)),
            ("HEAD /", Ok(ReadAccount)),
            ("POST /", Err(405)),
            ("GET /dbs", Ok(ListDatabases)),
            ("POST /dbs", Ok(CreateDatabase)),
            ("GET /dbs/a", Ok(ReadDatabase)),
            ("DELETE /dbs/a/", Ok(DeleteDatabase)),
            ("PUT /dbs/a", Err(405)),
            ("GET /dbs/a/colls", Ok(ListContainers)),
            ("POST /dbs/a/colls", Ok(CreateContainer)),
            ("GET /dbs/a/colls/b", Ok(ReadContainer)),
            ("PUT /dbs/a/colls/b", Ok(ReplaceContainer)),
            ("DELETE /dbs/a/colls/b", Ok(DeleteContainer)),
            ("GET /dbs/a/colls/b/docs", Ok(ListItems)),
            ("POST /dbs/a/colls/b/docs", Ok(CreateItem)),
            ("GET /dbs/a/colls/b/docs/c", Ok(ReadItem)),
            ("PUT /dbs/a/colls/b/docs/c", Ok(ReplaceItem)),
            ("PATCH /dbs/a/colls/b/docs/c", Ok(PatchItem)),
            ("DELETE /dbs/a/colls/b/docs/c", Ok(DeleteItem)),
            ("BREW /dbs/a/colls/b/docs/c", Err(405)),
            ("GET /dbs/a/colls/b/pkranges", Ok(ListRanges)),
            ("POST /dbs/a/colls/b/pkranges", Err(405)),
            ("POST /dbs/a/colls/b/operations/partitionkeydelete", Ok(DeleteByPartitionKey)),
            ("POST /dbs/a/colls/b/operations/other", Err(405)),
            ("GET /offers", Ok(ListOffers)),
            ("POST /offers", Err(405)),
            ("GET /offers/x", Ok(ReadOffer)),
            ("PUT /offers/x", Ok(ReplaceOffer)),
            ("GET /dbs/a/colls/b/sprocs", Ok(ListResources)),
            ("POST /dbs/a/colls/b/sprocs", Ok(CreateResource)),
            ("POST /dbs/a/colls/b/sprocs/s", Ok(ExecuteProcedure)),
            ("PUT /dbs/a/colls/b/sprocs/s", Ok(ReplaceResource)),
            ("POST /dbs/a/colls/b/udfs/s", Err(405)),
            ("PATCH /dbs/a/colls/b/triggers/s", Err(405)),
            ("DELETE /dbs/a/colls/b/triggers", Err(405)),
            ("GET /dbs/a/users/u", Ok(ReadResource)),
            ("DELETE /dbs/a/users/u/permissions/p", Ok(DeleteResource)),
            ("POST /dbs/a/clientencryptionkeys", Ok(CreateResource)),
            ("GET /dbs/a/colls/b/conflicts", Ok(ListConflicts)),
            ("POST /dbs/a/colls/b/conflicts", Err(405)),
            ("GET /dbs/a/colls/b/conflicts/c", Ok(ReadConflict)),
            ("PUT /dbs/a/colls/b/conflicts/c", Err(405)),
            ("DELETE /dbs/a/colls/b/conflicts/c", Ok(DeleteConflict)),
        ] {
            let (method, path) = request.split_once(' ').unwrap();
            assert_eq!(find(method, path, &[]), expected, "{request}");
        }
    }

    #[test]
    fn headers_say_what_a_request_to_the_items_is() {
        use Action::*;
        let by_type = (http::header::CONTENT_TYPE, "application/query+json; charset=utf-8");
        for (method, header, expected) in [
            ("POST", (headers::IS_QUERY, "True"), QueryItems),
            ("POST", by_type.clone(), QueryItems),
            ("POST", (headers::IS_QUERY, "false"), CreateItem),
            ("POST", (headers::IS_UPSERT, "true"), UpsertItem),
            ("POST", (headers::IS_BATCH_REQUEST, "True"), Batch),
            ("POST", (headers::IS_QUERY_PLAN_REQUEST, "True"), PlanQuery),
            ("GET", (headers::A_IM, "Incremental Feed"), ReadChanges),
        ] {
            let found = find(method, "/dbs/a/colls/b/docs", std::slice::from_ref(&header));
            assert_eq!(found, Ok(expected), "{header:?}");
        }
        for (path, expected) in [
            ("/dbs", QueryDatabases),
            ("/dbs/a/colls", QueryContainers),
            ("/offers", QueryOffers),
            ("/dbs/a/colls/b/conflicts", QueryConflicts),
            ("/dbs/a/users", QueryResources),
        ] {
            assert_eq!(find("POST", path, std::slice::from_ref(&by_type)), Ok(expected), "{path}");
        }
        for (path, expected) in [
            ("/dbs/a/users/u/permissions", Ok(UpsertResource)),
            ("/dbs/a/colls/b/udfs", Ok(UpsertResource)),
            ("/dbs/a/clientencryptionkeys", Err(405)),
        ] {
            assert_eq!(find("POST", path, &[(headers::IS_UPSERT, "true")]), expected, "{path}");
        }
    }
}
