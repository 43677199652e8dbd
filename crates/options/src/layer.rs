//! The layers, and the walk over them that finds a value and remembers whose it is.
//!
//! Where each layer's values come from is not known here.

use std::fmt;

/// Where an option's value came from, lowest first: a higher layer beats a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Nobody said anything; the option declares this value.
    Default,
    /// An environment variable.
    Environment,
    /// The defaults of the application, shared by its clients.
    Runtime,
    /// The options that one client was built with.
    Account,
    /// The options of one call.
    Operation,
    /// A `*_OVERRIDE` environment variable, which beats everything.
    Override,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::Runtime => "runtime",
            Self::Account => "account",
            Self::Operation => "operation",
            Self::Override => "override",
        })
    }
}

/// A value and the layer it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<T> {
    /// The value.
    pub value: T,
    /// Whose it is.
    pub layer: Layer,
}

/// One instance of a group per layer, borrowed; a layer that says nothing is absent.
pub struct Layers<'a, G> {
    overrides: Option<&'a G>,
    operation: Option<&'a G>,
    account: Option<&'a G>,
    runtime: Option<&'a G>,
    environment: Option<&'a G>,
}

impl<'a, G> Layers<'a, G> {
    /// No layer at all: every option is at its default.
    pub const fn none() -> Self {
        Self { overrides: None, operation: None, account: None, runtime: None, environment: None }
    }

    /// With what the environment says, both as its lowest layer and as its overrides.
    #[must_use]
    pub fn with_environment(self, env: crate::EnvRef<'a, G>) -> Self {
        Self { environment: Some(env.values()), overrides: env.overrides(), ..self }
    }

    /// With the application's defaults.
    #[must_use]
    pub const fn with_runtime(mut self, group: &'a G) -> Self {
        self.runtime = Some(group);
        self
    }

    /// With one client's options.
    #[must_use]
    pub const fn with_account(mut self, group: &'a G) -> Self {
        self.account = Some(group);
        self
    }

    /// With one call's options.
    #[must_use]
    pub const fn with_operation(mut self, group: &'a G) -> Self {
        self.operation = Some(group);
        self
    }

    /// The value of the highest layer that has one.
    pub fn find<T>(&self, field: impl Fn(&'a G) -> Option<&'a T>) -> Option<Resolved<&'a T>> {
        self.highest_first()
            .into_iter()
            .find_map(|(layer, group)| group.and_then(&field).map(|value| Resolved { value, layer }))
    }

    /// The value of the highest layer that has one, or `default`.
    pub fn find_or<T>(&self, field: impl Fn(&'a G) -> Option<&'a T>, default: &'a T) -> Resolved<&'a T> {
        self.find(field).unwrap_or(Resolved { value: default, layer: Layer::Default })
    }

    /// All layers' collections in one, lowest first, so that a higher layer's entry replaces a lower one's.
    pub fn merged<T>(&self, field: impl Fn(&'a G) -> Option<&'a T>) -> T
    where
        T: Clone + Default + IntoIterator + Extend<<T as IntoIterator>::Item> + 'a,
    {
        let mut merged = T::default();
        for (_, group) in self.highest_first().into_iter().rev() {
            if let Some(collection) = group.and_then(&field) {
                merged.extend(collection.clone());
            }
        }
        merged
    }

    /// The layers that have a value, lowest first.
    pub fn holders<T: 'a>(&self, field: impl Fn(&'a G) -> Option<&'a T>) -> Vec<Layer> {
        let lowest_first = self.highest_first().into_iter().rev();
        lowest_first.filter(|(_, group)| group.and_then(&field).is_some()).map(|(layer, _)| layer).collect()
    }

    /// The same layers of a group inside this one. A layer without it says nothing about its options either.
    pub fn child<C>(&self, field: impl Fn(&'a G) -> Option<&'a C>) -> Layers<'a, C> {
        Layers {
            overrides: self.overrides.and_then(&field),
            operation: self.operation.and_then(&field),
            account: self.account.and_then(&field),
            runtime: self.runtime.and_then(&field),
            environment: self.environment.and_then(&field),
        }
    }

    const fn highest_first(&self) -> [(Layer, Option<&'a G>); 5] {
        [
            (Layer::Override, self.overrides),
            (Layer::Operation, self.operation),
            (Layer::Account, self.account),
            (Layer::Runtime, self.runtime),
            (Layer::Environment, self.environment),
        ]
    }
}

// Derived, these would ask the same of `G`, which is only borrowed.
impl<G> Clone for Layers<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for Layers<'_, G> {}

impl<G: fmt::Debug> fmt::Debug for Layers<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let present = self.highest_first().into_iter().filter_map(|(layer, group)| Some((layer, group?)));
        f.debug_map().entries(present).finish()
    }
}

/// For the derive: whether a nested group can be set exactly where its parent can.
pub const fn same_layers(parent: &[Layer], nested: &[Layer]) -> bool {
    if parent.len() != nested.len() {
        return false;
    }
    let mut index = 0;
    while index < parent.len() {
        if parent[index] as u8 != nested[index] as u8 {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Group = Option<Vec<u8>>;

    fn layers<'a>(groups: &'a [Group; 5]) -> Layers<'a, Group> {
        let [overrides, operation, account, runtime, environment] = groups.each_ref().map(Some);
        Layers { overrides, operation, account, runtime, environment }
    }

    #[test]
    fn the_highest_layer_with_a_value_wins() {
        let order = [Layer::Override, Layer::Operation, Layer::Account, Layer::Runtime, Layer::Environment];
        let mut groups: [Group; 5] = [1, 2, 3, 4, 5].map(|n| Some(vec![n]));
        for (index, layer) in order.into_iter().enumerate() {
            let found = layers(&groups).find(Option::as_ref).map(|found| (found.layer, found.value.clone()));
            assert_eq!(found, Some((layer, groups[index].clone().unwrap())));
            groups[index] = None;
        }
        assert!(layers(&groups).find(Option::as_ref).is_none());
        assert_eq!(layers(&groups).find_or(Option::as_ref, &vec![9]).layer, Layer::Default);
    }

    #[test]
    fn merging_goes_from_the_lowest_layer_to_the_highest() {
        let groups = [Some(vec![5]), None, Some(vec![3, 4]), None, Some(vec![1])];
        assert_eq!(layers(&groups).merged(Option::as_ref), [1, 3, 4, 5]);
        assert_eq!(
            layers(&groups).holders(Option::as_ref),
            [Layer::Environment, Layer::Account, Layer::Override]
        );
    }

    #[test]
    fn layers_compare_by_strength() {
        assert!(Layer::Default < Layer::Environment && Layer::Environment < Layer::Runtime);
        assert!(Layer::Runtime < Layer::Account && Layer::Account < Layer::Operation);
        assert!(Layer::Operation < Layer::Override);
    }

    proptest! {
        #[test]
        fn finding_takes_the_top_and_merging_takes_all(groups in any::<[Group; 5]>()) {
            let layers = layers(&groups);
            let top = groups.iter().flatten().next();
            prop_assert_eq!(layers.find(Option::as_ref).map(|found| found.value), top);
            let all = groups.iter().rev().flatten().flatten().copied().collect::<Vec<_>>();
            prop_assert_eq!(layers.merged(Option::as_ref), all);
            let holders = layers.holders(Option::as_ref);
            prop_assert_eq!(holders.len(), groups.iter().flatten().count());
            prop_assert_eq!(holders.last().copied(), layers.find(Option::as_ref).map(|found| found.layer));
            let child = layers.child(Some);
            prop_assert_eq!(child.find(Option::as_ref), layers.find(Option::as_ref));
        }
    }
}
