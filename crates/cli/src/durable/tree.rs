//! `cosmonaut durable tree`

use duroxide_cosmonaut::InstanceSummary;
use serde_json::{Value, json};

use super::Answer;
use super::connect::{Store, failed};
use super::list::orchestration;
use crate::cell::cell;
use crate::failure::Failure;

const NAME: usize = 80;

pub(super) async fn run(store: &Store, instance: &str) -> Result<Answer, Failure> {
    let all = store.provider.tree_summaries(instance).await.map_err(|error| failed(&error))?;
    let Some(root) = all.first() else { return Err(store.no_such(instance)) };
    let mut text = line(root);
    draw(&all, &root.instance, "", &mut text);
    Ok(Answer { text, json: nested(&all, root) })
}

fn children<'a>(all: &'a [InstanceSummary], parent: &str) -> Vec<&'a InstanceSummary> {
    // The root is first; that it names a parent does not make it a child of what it has started.
    all.iter().skip(1).filter(|found| found.parent.as_deref() == Some(parent)).collect()
}

fn draw(all: &[InstanceSummary], parent: &str, before: &str, text: &mut String) {
    let children = children(all, parent);
    for (nth, child) in children.iter().enumerate() {
        let (branch, below) =
            if nth + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        *text += &format!("{before}{branch}{}", line(child));
        draw(all, &child.instance, &format!("{before}{below}"), text);
    }
}

fn line(found: &InstanceSummary) -> String {
    format!(
        "{}  {}  {}\n",
        cell(&found.instance, NAME),
        cell(&orchestration(found), NAME),
        cell(&found.status, NAME)
    )
}

fn nested(all: &[InstanceSummary], found: &InstanceSummary) -> Value {
    let mut value = json!(found);
    value["children"] = children(all, &found.instance).into_iter().map(|child| nested(all, child)).collect();
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(instance: &str, parent: Option<&str>) -> InstanceSummary {
        serde_json::from_value(json!({
            "instance": instance, "orchestration": "O", "version": "1.0.0", "status": "Running", "execution": 1,
            "parent": parent, "createdAt": 0, "updatedAt": 0, "completedAt": null, "events": 3,
        }))
        .unwrap()
    }

    #[test]
    fn a_tree_is_drawn_with_lines_and_nested_in_json() {
        let all = [
            found("a", Some("elsewhere")),
            found("b", Some("a")),
            found("c", Some("a")),
            found("d", Some("b")),
            found("e", Some("c")),
        ];
        let mut text = line(&all[0]);
        draw(&all, "a", "", &mut text);
        let names: Vec<_> = text.lines().map(|line| line.split("  O ").next().unwrap()).collect();
        assert_eq!(names, ["a", "├─ b", "│  └─ d", "└─ c", "   └─ e"]);
        let json = nested(&all, &all[0]);
        assert_eq!(json["children"][1]["children"][0]["instance"], "e");
    }

    #[test]
    fn a_root_that_says_it_is_below_itself_is_drawn_once() {
        let all = [found("a", Some("a"))];
        let mut text = line(&all[0]);
        draw(&all, "a", "", &mut text);
        assert_eq!(text.lines().count(), 1);
    }
}
