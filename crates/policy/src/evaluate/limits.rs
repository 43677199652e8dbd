//! How often what is retried.

use std::time::Duration;

use cosmonaut_options::{RetryLimitOptionsView, RetryOptionsView};

/// How often what is retried, and how long the waits are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryLimits {
    /// Attempts elsewhere. Every region is tried at once, so this is for going round again.
    pub max_failover_retries: u32,
    /// How long an operation goes on that every region refuses. A failover of the account takes minutes.
    pub refusal_patience: Duration,
    /// Attempts after a cache was refreshed. A split takes seconds.
    pub max_stale_cache_retries: u32,
    /// Attempts after a 449.
    pub max_retry_with: u32,
    /// Repeats in one region for the session's sake.
    pub max_in_region_session_retries: u32,
    /// How long these take together.
    pub min_in_region_session_time: Duration,
    /// Whether to try another region before repeating in this one for the session's sake.
    pub remote_region_preferred: bool,
    /// The first wait before going round the regions again, or after a second refresh.
    pub first_delay: Duration,
    /// The first wait after a 449.
    pub first_retry_with_delay: Duration,
    /// The longest wait.
    pub longest_delay: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            max_failover_retries: 10,
            refusal_patience: Duration::from_secs(300),
            max_stale_cache_retries: 8,
            max_retry_with: 9,
            max_in_region_session_retries: 1,
            min_in_region_session_time: Duration::from_millis(500),
            remote_region_preferred: false,
            first_delay: Duration::from_millis(100),
            first_retry_with_delay: Duration::from_millis(10),
            longest_delay: Duration::from_secs(1),
        }
    }
}

impl RetryLimits {
    /// What the options say.
    pub fn from_options(options: &RetryOptionsView<'_>, limits: &RetryLimitOptionsView<'_>) -> Self {
        let session = options.session_retry();
        Self {
            max_failover_retries: limits.max_failover_retries(),
            refusal_patience: limits.write_failover_patience(),
            max_retry_with: limits.max_conflict_retries(),
            first_delay: limits.first_failover_delay(),
            longest_delay: limits.longest_failover_delay(),
            max_in_region_session_retries: u32::try_from(session.max_in_region_retry_count())
                .unwrap_or(u32::MAX),
            min_in_region_session_time: session.min_in_region_retry_time(),
            remote_region_preferred: options.remote_region_preferred(),
            ..Self::default()
        }
    }

    /// The wait before a repeat in one region. Each is twice the one before, and all of them together take
    /// just the least time to spend there.
    pub(super) fn in_region_session_delay(&self, earlier: u32) -> Duration {
        // 2^earlier / (2^all - 1); past some number of repeats the last wait is half of the time.
        let all = self.max_in_region_session_retries.clamp(1, 30);
        let share = f64::from(1 << earlier.min(all - 1)) / f64::from((1_u32 << all) - 1);
        self.min_in_region_session_time.mul_f64(share)
    }
}
