//! The environment as a layer: the door it is read through, and what it said.
//!
//! It is read once, when asked, and never watched. How text becomes a value is in `value`.

use std::ffi::OsString;

use crate::{Expected, OptionError, OptionErrors, OptionGroup, OptionInfo, Origin, Variable};

/// Where environment variables are read from. Any `Fn(&str) -> Option<OsString>` is one, which is what a test
/// uses.
pub trait Environment {
    /// The value of a variable, if it is set.
    fn var(&self, name: &str) -> Option<OsString>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn var(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }
}

impl<F: Fn(&str) -> Option<OsString>> Environment for F {
    fn var(&self, name: &str) -> Option<OsString> {
        self(name)
    }
}

/// All that the environment says about a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnvLayer<G> {
    /// The environment layer itself, the lowest.
    pub values: G,
    /// What `*_OVERRIDE` variables say, which beats every layer.
    pub overrides: G,
}

impl<G: OptionGroup> EnvLayer<G> {
    /// Reads the variables of a group.
    ///
    /// # Errors
    /// Every variable that is set to something that cannot be used.
    pub fn read(environment: &impl Environment) -> Result<Self, OptionErrors> {
        let mut reader = EnvReader::new(environment);
        let layer = reader.layer();
        reader.finish(layer)
    }
}

/// The environment's part in a View: a bare group has no overrides, an [`EnvLayer`] may.
#[derive(Debug)]
pub struct EnvRef<'a, G> {
    values: &'a G,
    overrides: Option<&'a G>,
}

impl<'a, G> EnvRef<'a, G> {
    /// The environment layer.
    pub const fn values(&self) -> &'a G {
        self.values
    }

    /// What beats every layer.
    pub const fn overrides(&self) -> Option<&'a G> {
        self.overrides
    }
}

impl<'a, G> From<&'a G> for EnvRef<'a, G> {
    fn from(values: &'a G) -> Self {
        Self { values, overrides: None }
    }
}

impl<'a, G> From<&'a EnvLayer<G>> for EnvRef<'a, G> {
    fn from(layer: &'a EnvLayer<G>) -> Self {
        Self { values: &layer.values, overrides: Some(&layer.overrides) }
    }
}

/// Reads variables for generated code and keeps what is wrong with them, so that all of it is reported at
/// once.
pub struct EnvReader<'e> {
    environment: &'e dyn Environment,
    names: Names,
    errors: Vec<OptionError>,
}

/// Which of an option's variables are being read.
enum Names {
    Values,
    Overrides,
}

impl<'e> EnvReader<'e> {
    pub(crate) fn new(environment: &'e impl Environment) -> Self {
        Self { environment, names: Names::Values, errors: Vec::new() }
    }

    pub(crate) fn layer<G: OptionGroup>(&mut self) -> EnvLayer<G> {
        self.names = Names::Values;
        let values = G::read_env(self);
        self.names = Names::Overrides;
        EnvLayer { values, overrides: G::read_env(self) }
    }

    pub(crate) fn finish<T>(self, value: T) -> Result<T, OptionErrors> {
        OptionErrors::check(self.errors, value)
    }

    /// The environment layer of one group, without overrides.
    ///
    /// # Errors
    /// Every variable that is set to something that cannot be used.
    pub fn values<G: OptionGroup>(environment: &'e impl Environment) -> Result<G, OptionErrors> {
        let mut reader = Self::new(environment);
        let group = G::read_env(&mut reader);
        reader.finish(group)
    }

    /// The value of an option. The first name that is set decides, but the others must be well formed too.
    pub fn read<T>(
        &mut self,
        info: &OptionInfo,
        parse: impl Fn(&str) -> Result<T, Expected>,
        check: impl Fn(&T) -> Result<(), Expected>,
    ) -> Option<T> {
        let mut chosen = None;
        self.each(info, &mut |text| {
            let value = parse(text)?;
            check(&value)?;
            chosen.get_or_insert(value);
            Ok(())
        });
        chosen
    }

    /// Hands over each variable of an option that is set. The same code for options of any type.
    fn each(&mut self, info: &OptionInfo, take: &mut dyn FnMut(&str) -> Result<(), Expected>) {
        let Some(variable) = info.variable else { return };
        for name in self.names.of(&variable) {
            let Some(raw) = self.environment.var(name) else { continue };
            let taken = raw.to_str().ok_or(Expected::new("valid UTF-8")).and_then(&mut *take);
            if let Err(expected) = taken {
                let text = raw.to_string_lossy();
                self.errors.push(OptionError::new(Origin::Variable(name), text, expected));
            }
        }
    }
}

impl Names {
    fn of(&self, variable: &Variable) -> Vec<&'static str> {
        match self {
            Self::Values => std::iter::once(variable.name).chain(variable.aliases.iter().copied()).collect(),
            Self::Overrides => variable.override_name.into_iter().collect(),
        }
    }
}
