//! Functions that users have defined, `udf.name(…)`: the caller runs them.

use std::fmt;
use std::sync::Arc;

use super::error::EvalError;

/// Runs the functions that users have defined.
pub trait UserFunctions: Send + Sync {
    /// Calls a function. `arguments` is a JSON array with an array for each of them: of its value, or empty if it is
    /// undefined. The result is JSON text, or `None` if it is undefined.
    ///
    /// # Errors
    /// [`EvalError::UserFunction`] if the function fails; why is kept by whoever runs it.
    fn call(&self, name: &str, arguments: &str) -> Result<Option<String>, EvalError>;
}

/// What a program has of them.
#[derive(Clone, Default)]
pub(super) struct Functions(pub(super) Option<Arc<dyn UserFunctions>>);

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Functions" } else { "Functions::none" })
    }
}
