//! The options of one operation, and all layers of one driver together.

use std::sync::Arc;

use cosmonaut_options::{
    ConnectionOptionsView, CosmosAccountOptionsView, CosmosClientOptions, CosmosRuntimeOptions,
    DiagnosticsOptions, DiagnosticsOptionsView, EnvironmentOptions, GroupReport, HedgingOptions,
    HedgingOptionsView, OptionErrors, RegionOptionsView, RequestOptions, RequestOptionsView,
    RetryLimitOptions, RetryLimitOptionsView, RetryOptionsView,
};
use cosmonaut_wire::SessionToken;

/// The options of one operation.
///
/// It is open on purpose, so that `..Default::default()` works outside this crate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationOptions {
    /// What any request may carry.
    pub request: RequestOptions,
    /// Whether and when a second region is asked.
    pub hedging: HedgingOptions,
    /// How often it is retried, and for how long.
    pub retry_limits: RetryLimitOptions,
    /// When a diagnostics handler hears of the operation.
    pub diagnostics: DiagnosticsOptions,
    /// The session to continue, instead of the driver's own.
    pub session_token: Option<SessionToken>,
    /// What the operation is called in spans, metrics and reports, where the caller knows better than its type
    /// and resource say: `read_many_items` and not `query_items`.
    pub operation_name: Option<&'static str>,
}

impl OperationOptions {
    /// Checks what is set. Costs nothing for what is not.
    pub(crate) fn validate(&self) -> Result<(), OptionErrors> {
        self.request.validate()?;
        self.hedging.validate()?;
        self.retry_limits.validate()?;
        self.diagnostics.validate()
    }
}

/// What was set at the layers below the operation.
pub(crate) struct LayeredOptions {
    pub(crate) environment: Arc<EnvironmentOptions>,
    pub(crate) runtime: Arc<CosmosRuntimeOptions>,
    pub(crate) account: CosmosClientOptions,
}

impl LayeredOptions {
    /// What holds for each option, and who set it.
    pub(crate) fn explain(&self) -> Vec<GroupReport> {
        self.environment.explain_with(&self.runtime, &self.account)
    }

    /// Checks what was set for the account, and what only all layers together can get wrong.
    pub(crate) fn validate(&self) -> Result<(), OptionErrors> {
        self.account.validate()?;
        self.connection().sharding().validate()
    }

    pub(crate) fn connection(&self) -> ConnectionOptionsView<'_> {
        ConnectionOptionsView::new(
            &self.environment.connection,
            &self.runtime.connection,
            &self.account.connection,
        )
    }

    pub(crate) fn regions(&self) -> RegionOptionsView<'_> {
        RegionOptionsView::new(&self.runtime.regions, &self.account.regions)
    }

    pub(crate) fn retry(&self) -> RetryOptionsView<'_> {
        RetryOptionsView::new(&self.environment.retry, &self.runtime.retry, &self.account.retry)
    }

    pub(crate) fn account(&self) -> CosmosAccountOptionsView<'_> {
        CosmosAccountOptionsView::new(&self.environment.account, &self.runtime.account, &self.account.account)
    }

    pub(crate) fn request<'a>(&'a self, operation: &'a OperationOptions) -> RequestOptionsView<'a> {
        let Self { environment, runtime, account } = self;
        RequestOptionsView::new(&environment.request, &runtime.request, &account.request, &operation.request)
    }

    pub(crate) fn retry_limits<'a>(&'a self, operation: &'a OperationOptions) -> RetryLimitOptionsView<'a> {
        let Self { environment, runtime, account } = self;
        let layers = (&environment.retry_limits, &runtime.retry_limits, &account.retry_limits);
        RetryLimitOptionsView::new(layers.0, layers.1, layers.2, &operation.retry_limits)
    }

    pub(crate) fn diagnostics<'a>(&'a self, operation: &'a OperationOptions) -> DiagnosticsOptionsView<'a> {
        let Self { runtime, account, .. } = self;
        DiagnosticsOptionsView::new(&runtime.diagnostics, &account.diagnostics, &operation.diagnostics)
    }

    pub(crate) fn hedging<'a>(&'a self, operation: &'a OperationOptions) -> HedgingOptionsView<'a> {
        let Self { environment, runtime, account } = self;
        HedgingOptionsView::new(&environment.hedging, &runtime.hedging, &account.hedging, &operation.hedging)
    }
}
