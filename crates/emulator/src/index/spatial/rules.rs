//! Which paths of a policy hold shapes, and which coordinates these have.

use cosmonaut_query::spatial::Surface;
use cosmonaut_wire::model::{BoundingBox, IndexedPath, IndexingPolicy};

use super::super::path::{IndexPath, Step, Tail};
use super::cell::Domain;
use crate::failure::Failure;

/// A path that holds shapes.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) path: IndexPath,
    tail: Tail,
    pub(super) domain: Domain,
}

/// All of them, in the order of the policy.
#[derive(Debug)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    surface: Surface,
}

impl Rules {
    pub(super) fn new(policy: &IndexingPolicy) -> Result<Rules, Failure> {
        let indexes = policy.spatial_indexes.as_deref().unwrap_or_default();
        let named = indexes.iter().map(|index| Rule::new(&index.path, index.bounding_box.as_ref()));
        let included = policy.included_paths.as_deref().unwrap_or_default();
        let old = included.iter().filter(|path| has_old_index(path)).map(|path| Rule::new(&path.path, None));
        // On a plane every index has a box, and on the globe none has.
        let is_plane = indexes.iter().any(|index| index.bounding_box.is_some());
        let surface = if is_plane { Surface::Geometry } else { Surface::Geography };
        Ok(Rules { rules: named.chain(old).collect::<Result<_, _>>()?, surface })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(super) fn surface(&self) -> Surface {
        self.surface
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The rule for a path, and which one it is.
    pub(super) fn covering(&self, path: &[Step]) -> Option<(usize, &Rule)> {
        self.rules.iter().enumerate().find(|(_, rule)| rule.covers(path))
    }
}

impl Rule {
    fn new(text: &str, bounding_box: Option<&BoundingBox>) -> Result<Rule, Failure> {
        let (path, tail) = IndexPath::parse(text)?;
        if tail == Tail::Bare {
            return Err(Failure::bad_request(format!(
                "The spatial index path '{text}' could not be accepted. End it with '/?' or with '/*'."
            )));
        }
        let domain = match bounding_box {
            Some(within) => Domain { x: (within.xmin, within.xmax), y: (within.ymin, within.ymax) },
            None => Domain::GLOBE,
        };
        Ok(Rule { path, tail, domain })
    }

    /// Whether shapes further down are meant, too.
    pub(super) fn reaches_below(&self) -> bool {
        self.tail == Tail::Subtree
    }

    fn covers(&self, path: &[Step]) -> bool {
        match self.reaches_below() {
            true => path.starts_with(&self.path.0),
            false => path == self.path.0,
        }
    }
}

/// Whether an included path has a spatial index in the way of old policies.
pub(crate) fn has_old_index(path: &IndexedPath) -> bool {
    let is_spatial = |index: &serde_json::Value| {
        index
            .get("kind")
            .and_then(|kind| kind.as_str())
            .is_some_and(|kind| kind.eq_ignore_ascii_case("Spatial"))
    };
    path.indexes.iter().flatten().any(is_spatial)
}
