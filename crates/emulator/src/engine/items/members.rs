//! Members that an object has twice: of two readers, each may take another one for the member.

use std::borrow::Cow;

use cosmonaut_query::ast::PathSegment;
use cosmonaut_query::raw::RawJson;
use cosmonaut_query::value::Kind;

use crate::Failure;

/// 400 if an item has a member twice, or an object on the way to its partition key has.
pub(super) fn check_members(item: RawJson<'_>, key_paths: &[Vec<PathSegment>]) -> Result<(), Failure> {
    check_object(item)?;
    for path in key_paths {
        let mut at = item;
        for segment in path {
            let PathSegment::Member(name) = segment else { break };
            let Some(next) = at.member(name).filter(|next| next.kind() == Kind::Object) else { break };
            check_object(next)?;
            at = next;
        }
    }
    Ok(())
}

fn check_object(object: RawJson<'_>) -> Result<(), Failure> {
    let mut names: Vec<Cow<'_, str>> = object.members().map(|(name, _)| name.name()).collect();
    names.sort_unstable();
    match names.windows(2).find(|two| two[0] == two[1]) {
        None => Ok(()),
        Some(two) => {
            let shown: String = two[0].chars().take(200).collect();
            Err(Failure::bad_request(format!(
                "the item has the member {shown:?} twice, so that it has no one value: leave one of them out"
            )))
        }
    }
}
