//! Which requests may take long, and so are not done on the threads that move bytes.

use super::action::Action;
use super::call::Call;

/// How long an operation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// No longer than its request is: it is done at once.
    Short,
    /// As long as there is data to look at. It changes nothing before its end, so that it can stop when its client leaves.
    Read,
    /// As long as there is data to change, to its end.
    Write,
    /// As long as a script runs. It can stop when its client leaves. What calls scripts by the way is no exception: a step of
    /// one may take long, and then only other scripts wait for it.
    Script,
}

/// The longest text whose plan is made at once.
const SHORT_QUERY: usize = 2048;

impl Action {
    pub(super) fn length(self, call: &Call<'_>) -> Length {
        let is_short_plan = self == Self::PlanQuery && call.body.len() <= SHORT_QUERY;
        let is_item_write =
            matches!(self, Self::CreateItem | Self::UpsertItem | Self::ReplaceItem | Self::DeleteItem);
        let runs_scripts = self == Self::ExecuteProcedure
            || is_item_write && call.has_triggers().unwrap_or(false)
            || self == Self::QueryItems && may_call_functions(&call.body);
        if runs_scripts {
            return Length::Script;
        }
        if self.has_condition(&call.body) {
            return Length::Read;
        }
        match self.may_be_long() && !is_short_plan {
            false => Length::Short,
            true if self.writes() => Length::Write,
            true => Length::Read,
        }
    }

    /// Whether the body of a write may hold a condition, which is as long as a query of one document may be. An escaped
    /// letter may be one of its name.
    fn has_condition(self, body: &[u8]) -> bool {
        const NAME: &[u8] = b"\"condition\"";
        let is_judged = matches!(self, Self::PatchItem | Self::Batch);
        is_judged && (body.windows(NAME.len()).any(|part| part == NAME) || has_escapes(body))
    }
}

/// Whether the query in a body may call functions of users. An escaped letter may be one of theirs.
fn may_call_functions(body: &[u8]) -> bool {
    body.windows(3).any(|three| three.eq_ignore_ascii_case(b"udf")) || has_escapes(body)
}

fn has_escapes(body: &[u8]) -> bool {
    body.windows(2).any(|two| two == b"\\u")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use cosmonaut_wire::ResourcePath;
    use http::HeaderMap;

    use super::super::origin::{Origin, Scheme};
    use super::*;
    use crate::Pace;

    #[test]
    fn what_may_take_long_is_told_by_its_action_and_body() {
        for (action, body, expected) in [
            (Action::QueryItems, r#"{"query":"SELECT * FROM c"}"#, Length::Read),
            (Action::QueryItems, r#"{"query":"SELECT VALUE udf.f(c) FROM c"}"#, Length::Script),
            (Action::QueryItems, r#"{"query":"SELECT VALUE UDF.f(c) FROM c"}"#, Length::Script),
            (Action::QueryItems, r#"{"query":"SELECT VALUE \u0075df.f(c) FROM c"}"#, Length::Script),
            (Action::PlanQuery, r#"{"query":"SELECT VALUE udf.f(c) FROM c"}"#, Length::Short),
            (Action::ExecuteProcedure, "[]", Length::Script),
            (Action::CreateItem, "{}", Length::Short),
            (Action::CreateItem, r#"{"condition":1}"#, Length::Short),
            (Action::PatchItem, r#"{"operations":[]}"#, Length::Short),
            (Action::PatchItem, r#"{"condition":"FROM c","operations":[]}"#, Length::Read),
            (Action::PatchItem, r#"{"c\u006fndition":"FROM c","operations":[]}"#, Length::Read),
            (Action::Batch, r#"[{"resourceBody":{"condition":"FROM c"}}]"#, Length::Read),
            (Action::Batch, r#"[{"resourceBody":{}}]"#, Length::Short),
            (Action::ListItems, "", Length::Read),
            (Action::DeleteContainer, "", Length::Write),
        ] {
            let origin = Origin { scheme: Scheme::Http, authority: None, peer: None };
            let (headers, pace) = (HeaderMap::new(), Pace::default());
            let body = Bytes::from(body);
            let call =
                Call { path: ResourcePath::account(), headers: &headers, body, origin, pace, only: None };
            assert_eq!(action.length(&call), expected, "{action:?} {:?}", call.body);
        }
    }
}
