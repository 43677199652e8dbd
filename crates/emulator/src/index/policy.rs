//! Which paths an indexing policy includes: of all the paths that apply to a value, the most precise one decides.
//!
//! Composite, spatial, vector and full-text indexes have their own files.

use cosmonaut_wire::model::{IndexedPath, IndexingMode, IndexingPolicy};

use super::Coverage;
use super::path::{IndexPath, Step, Tail};
use crate::failure::Failure;

/// Written by the service under every document, long, and never searched by: keeping them would double the index.
const UNKEPT: [&str; 3] = ["_rid", "_self", "_attachments"];

/// Indexed whatever the paths say, as long as anything is.
const ALWAYS: [&str; 2] = ["id", "_ts"];

/// The paths of a policy as a tree.
#[derive(Debug)]
pub(super) struct Rules {
    on: bool,
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// What `/?` says here.
    value: Option<bool>,
    /// What `/*` says here.
    subtree: Option<bool>,
    members: Vec<(Box<str>, u32)>,
    elements: Option<u32>,
}

/// A place in the tree of rules, or below its leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    node: Option<u32>,
    inherited: bool,
}

impl Rules {
    pub(super) fn new(policy: &IndexingPolicy) -> Result<Rules, Failure> {
        let on = is_on(policy)?;
        let mut rules = Rules { on, nodes: vec![Node::default()] };
        let (included, excluded) = filled_in(policy);
        for (paths, include) in [(&included, true), (&excluded, false)] {
            for path in paths {
                rules.add(path, include)?;
            }
        }
        if on {
            rules.check_root()?;
        }
        rules.add_system_members();
        Ok(rules)
    }

    /// Whether there is an index at all.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// The root of a document.
    pub(super) fn start(&self) -> Cursor {
        Cursor { node: Some(0), inherited: self.nodes[0].subtree.unwrap_or(false) }
    }

    /// One step down.
    pub(super) fn step(&self, from: Cursor, step: &Step) -> Cursor {
        match step {
            Step::Member(name) => self.member(from, name),
            Step::Element => self.element(from),
        }
    }

    /// Down to a member.
    pub(super) fn member(&self, from: Cursor, name: &str) -> Cursor {
        let members = from.node.map_or(&[][..], |node| &self.nodes[node as usize].members);
        self.entered(from, members.iter().find(|(known, _)| **known == *name).map(|(_, node)| *node))
    }

    /// Down to the elements.
    pub(super) fn element(&self, from: Cursor) -> Cursor {
        self.entered(from, from.node.and_then(|node| self.nodes[node as usize].elements))
    }

    /// Whether the value here is indexed.
    pub(super) fn takes_value(&self, at: Cursor) -> bool {
        at.node.and_then(|node| self.nodes[node as usize].value).unwrap_or(at.inherited)
    }

    /// Whether the value here, or anything below it, can be indexed.
    pub(super) fn reaches(&self, at: Cursor) -> bool {
        at.inherited || at.node.is_some()
    }

    pub(super) fn coverage(&self, path: &[Step]) -> Coverage {
        if !self.on {
            return Coverage::Excluded;
        }
        if let [Step::Member(name), ..] = path
            && UNKEPT.contains(&&**name)
        {
            return Coverage::Unkept;
        }
        let at = path.iter().fold(self.start(), |at, step| self.step(at, step));
        if self.takes_value(at) { Coverage::Indexed } else { Coverage::Excluded }
    }

    fn entered(&self, from: Cursor, node: Option<u32>) -> Cursor {
        let own = node.and_then(|node| self.nodes[node as usize].subtree);
        Cursor { node, inherited: own.unwrap_or(from.inherited) }
    }

    fn add(&mut self, path: &IndexedPath, include: bool) -> Result<(), Failure> {
        let text = &path.path;
        let (path, tail) = IndexPath::parse(text)?;
        let node = path.0.iter().fold(0, |node, step| self.child(node, step));
        let node = &mut self.nodes[node as usize];
        let rule = match tail {
            Tail::Value => &mut node.value,
            Tail::Subtree => &mut node.subtree,
            Tail::Bare => {
                let position = text.len();
                return Err(Failure::bad_request(format!(
                    "The indexing path '{text}' could not be accepted, failed near position '{position}'. Please ensure \
                     that the path is a valid path. End it with '/?' for the value there or with '/*' for everything below."
                )));
            }
        };
        match rule.replace(include) {
            Some(before) if before != include => Err(Failure::bad_request(format!(
                "The indexing path '{text}' is both included and excluded. Leave it in one of the two lists."
            ))),
            Some(_) | None => Ok(()),
        }
    }

    fn child(&mut self, node: u32, step: &Step) -> u32 {
        let fresh = self.nodes.len() as u32;
        let parent = &mut self.nodes[node as usize];
        let child = match step {
            Step::Element => *parent.elements.get_or_insert(fresh),
            Step::Member(name) => match parent.members.iter().find(|(known, _)| known == name) {
                Some((_, child)) => *child,
                None => {
                    parent.members.push((name.clone(), fresh));
                    fresh
                }
            },
        };
        if child == fresh {
            self.nodes.push(Node::default());
        }
        child
    }

    fn check_root(&self) -> Result<(), Failure> {
        match self.nodes[0].subtree {
            Some(_) => Ok(()),
            None => Err(Failure::bad_request(
                "The special mandatory indexing path \"/*\" is not provided in any of the path type sets. Add it to \
                 includedPaths or to excludedPaths.",
            )),
        }
    }

    fn add_system_members(&mut self) {
        for (names, include) in [(&ALWAYS[..], true), (&UNKEPT[..], false)] {
            for name in names {
                let node = self.child(0, &Step::Member((*name).into())) as usize;
                self.nodes[node].value = Some(include);
                if !include {
                    self.nodes[node].subtree = Some(false);
                }
            }
        }
    }
}

/// Whether a path covers all of a document.
pub(crate) fn is_root(path: &str) -> bool {
    path == "/*" || path == "/"
}

/// The lists of paths, with what the service adds to a policy that leaves one out.
fn filled_in(policy: &IndexingPolicy) -> (Vec<IndexedPath>, Vec<IndexedPath>) {
    let excluded = policy.excluded_paths.clone().unwrap_or_default();
    let excludes_root = excluded.iter().any(|path| is_root(&path.path));
    let included = match &policy.included_paths {
        Some(paths) => paths.clone(),
        None if excludes_root => Vec::new(),
        None => vec![IndexedPath::new("/*")],
    };
    (included, excluded)
}

fn is_on(policy: &IndexingPolicy) -> Result<bool, Failure> {
    match &policy.indexing_mode {
        None | Some(IndexingMode::Consistent | IndexingMode::Lazy) => Ok(true),
        Some(IndexingMode::None) if policy.automatic == Some(true) => Err(Failure::bad_request(
            "The indexing mode 'none' does not go together with automatic indexing. Set \"automatic\" to false.",
        )),
        Some(IndexingMode::None) => Ok(false),
        Some(other) => Err(Failure::bad_request(format!(
            "The indexing mode '{other}' is not known. Use 'consistent' or 'none'."
        ))),
    }
}
