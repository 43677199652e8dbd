//! The layers as a user builds them: each holds one instance of every group that it may set.
//!
//! The operation layer is not here: which groups a call takes depends on the call, and is the client's to
//! say.

use crate::__private::{EnvReader, Explainer};
use crate::{
    ConnectionOptions, CosmosAccountOptions, DiagnosticsOptions, EnvLayer, EnvRef, Environment, Explanation,
    HedgingOptions, ItemWriteOptions, Layer, LayeredGroup, Layers, OptionErrors, OptionGroup, RegionOptions,
    RequestOptions, RetryLimitOptions, RetryOptions, describe,
};

/// A layer that code sets: the same groups at each, so that a setting can move from one to the other unchanged.
macro_rules! explicit_layer {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $group:ty,)+ }) => {
        $(#[$doc])*
        ///
        /// It is open on purpose, so that `..Default::default()` works outside this crate; write that, and a group
        /// added later changes nothing for you.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $group,)+
        }

        impl $name {
            /// Checks everything set on this layer.
            ///
            /// # Errors
            /// Every option that is set to something that it does not allow.
            pub fn validate(&self) -> Result<(), OptionErrors> {
                OptionErrors::gather([$(self.$field.validate()),+])
            }
        }
    };
    ($($(#[$doc:meta])* $name:ident;)+) => {
        $(explicit_layer! {
            $(#[$doc])*
            $name {
                /// Connections.
                connection: ConnectionOptions,
                /// Regions.
                regions: RegionOptions,
                /// Retries.
                retry: RetryOptions,
                /// How often one operation is retried.
                retry_limits: RetryLimitOptions,
                /// Requests.
                request: RequestOptions,
                /// Hedging.
                hedging: HedgingOptions,
                /// The account.
                account: CosmosAccountOptions,
                /// Which operations a diagnostics handler hears of.
                diagnostics: DiagnosticsOptions,
            }
        })+
    };
}

explicit_layer! {
    /// The runtime layer: what holds for every client of an application.
    CosmosRuntimeOptions;
    /// The account layer: what one client was built with.
    CosmosClientOptions;
}

/// The environment layer: all groups that have variables, read once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvironmentOptions {
    /// Connections.
    pub connection: EnvLayer<ConnectionOptions>,
    /// Retries.
    pub retry: EnvLayer<RetryOptions>,
    /// How often one operation is retried.
    pub retry_limits: EnvLayer<RetryLimitOptions>,
    /// Requests.
    pub request: EnvLayer<RequestOptions>,
    /// Hedging.
    pub hedging: EnvLayer<HedgingOptions>,
    /// The account.
    pub account: EnvLayer<CosmosAccountOptions>,
}

impl EnvironmentOptions {
    /// Reads every variable of every group.
    ///
    /// # Errors
    /// Every variable that is set to something that cannot be used.
    pub fn read(environment: &impl Environment) -> Result<Self, OptionErrors> {
        let mut reader = EnvReader::new(environment);
        let options = Self {
            connection: reader.layer(),
            retry: reader.layer(),
            retry_limits: reader.layer(),
            request: reader.layer(),
            hedging: reader.layer(),
            account: reader.layer(),
        };
        reader.finish(options)
    }

    /// Every group there is, with what holds for each option as long as code sets nothing.
    pub fn explain(&self) -> Vec<GroupReport> {
        self.explain_with(&CosmosRuntimeOptions::default(), &CosmosClientOptions::default())
    }

    /// Every group there is, with what holds for each option of one client as long as a call sets nothing.
    pub fn explain_with(
        &self,
        runtime: &CosmosRuntimeOptions,
        account: &CosmosClientOptions,
    ) -> Vec<GroupReport> {
        macro_rules! report {
            ($group:ident, $below:expr) => {
                GroupReport::resolved($below.with_runtime(&runtime.$group).with_account(&account.$group))
            };
        }
        vec![
            report!(connection, environment(&self.connection)),
            report!(regions, Layers::none()),
            report!(retry, environment(&self.retry)),
            report!(retry_limits, environment(&self.retry_limits)),
            report!(request, environment(&self.request)),
            report!(hedging, environment(&self.hedging)),
            report!(account, environment(&self.account)),
            report!(diagnostics, Layers::none()),
            GroupReport::declared::<ItemWriteOptions>(),
        ]
    }
}

/// One group's options, with what they resolve to.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// The group's name.
    pub name: &'static str,
    /// The explicit layers it can be set at, lowest first.
    pub layers: &'static [Layer],
    /// Its options.
    pub options: Vec<Explanation>,
}

impl GroupReport {
    fn resolved<G: LayeredGroup>(layers: Layers<'_, G>) -> Self {
        Self { name: G::NAME, layers: G::LAYERS, options: Explainer::explain(layers) }
    }

    /// A group without a View, which nothing but a call can set.
    fn declared<G: OptionGroup>() -> Self {
        let options = describe::<G>().into_iter().map(|option| option.unset()).collect();
        Self { name: G::NAME, layers: G::LAYERS, options }
    }
}

fn environment<G: OptionGroup>(layer: &EnvLayer<G>) -> Layers<'_, G> {
    Layers::none().with_environment(EnvRef::from(layer))
}
