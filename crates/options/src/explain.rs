//! Listing a group's options: as they are declared, and as they resolve.
//!
//! How a listing is laid out is up to whoever prints it.

use std::fmt;

use crate::{Layer, LayeredGroup, Layers, OptionGroup, OptionInfo, OptionValue, Resolved};

/// An option as it is declared.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name inside the group, dotted for a nested one: `connection_pool.idle_timeout`.
    pub path: String,
    /// What is known about it.
    pub info: &'static OptionInfo,
}

/// An option as it resolves.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The option.
    pub option: Description,
    /// Its value, rendered; nothing if no layer sets it and it has no default.
    pub value: Option<String>,
    /// Where the value came from: one layer, or for a merged option all that contributed, lowest first.
    pub sources: Vec<Layer>,
}

impl Description {
    /// This option as one that nobody has set.
    pub(crate) fn unset(self) -> Explanation {
        Explanation { option: self, value: None, sources: Vec::new() }
    }
}

/// Every option of a group as declared, nested ones included.
pub fn describe<G: OptionGroup>() -> Vec<Description> {
    let mut descriptions = Vec::new();
    describe_into("", G::OPTIONS, &mut descriptions);
    descriptions
}

fn describe_into(prefix: &str, options: &'static [OptionInfo], descriptions: &mut Vec<Description>) {
    for info in options {
        let path = format!("{prefix}{}", info.name);
        if info.nested.is_empty() {
            descriptions.push(Description { path, info });
        } else {
            describe_into(&format!("{path}."), info.nested, descriptions);
        }
    }
}

/// Collects explanations for generated code.
pub struct Explainer {
    prefix: String,
    explanations: Vec<Explanation>,
}

impl Explainer {
    /// Every option of a group as it resolves over these layers.
    pub fn explain<G: LayeredGroup>(layers: Layers<'_, G>) -> Vec<Explanation> {
        let mut explainer = Self { prefix: String::new(), explanations: Vec::new() };
        G::explain(layers, &mut explainer);
        explainer.explanations
    }

    /// Notes an option of which one layer decides.
    pub fn value<T: OptionValue>(&mut self, info: &'static OptionInfo, found: Option<Resolved<&T>>) {
        let (value, sources) =
            found.map_or((None, Vec::new()), |found| (Some(found.value.render()), vec![found.layer]));
        self.push(info, value, sources);
    }

    /// Notes an option that is merged from several layers.
    pub fn merged<T: OptionValue>(&mut self, info: &'static OptionInfo, merged: &T, sources: Vec<Layer>) {
        self.push(info, (!sources.is_empty()).then(|| merged.render()), sources);
    }

    /// Notes the options of a nested group.
    pub fn nested<G: LayeredGroup>(&mut self, info: &'static OptionInfo, layers: Layers<'_, G>) {
        let parent = self.prefix.len();
        self.prefix.push_str(info.name);
        self.prefix.push('.');
        G::explain(layers, self);
        self.prefix.truncate(parent);
    }

    fn push(&mut self, info: &'static OptionInfo, value: Option<String>, sources: Vec<Layer>) {
        let path = format!("{}{}", self.prefix, info.name);
        self.explanations.push(Explanation { option: Description { path, info }, value, sources });
    }
}

/// The `Debug` of a View: what is set, and where.
pub fn fmt_view(f: &mut fmt::Formatter<'_>, name: &str, explanations: &[Explanation]) -> fmt::Result {
    let mut view = f.debug_struct(name);
    for explanation in explanations {
        if let (Some(value), Some(source)) = (&explanation.value, explanation.sources.last()) {
            view.field(&explanation.option.path, &format_args!("{value} ({source})"));
        }
    }
    view.finish()
}
