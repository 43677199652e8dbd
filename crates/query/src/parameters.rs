//! The values that a query's `@name` parameters stand for.
//!
//! Names keep their `@`, as the wire format and the syntax tree do.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use cosmonaut_wire::model::QueryParameter;

use crate::raw::JsonError;
use crate::value::Value;

/// Parameter names with their values, in the order given.
///
/// ```
/// use cosmonaut_query::{Parameters, value::Value};
///
/// let mut parameters = Parameters::new();
/// parameters.insert("@city", "Oslo");
/// assert_eq!(parameters.get("@city"), Some(&Value::from("Oslo")));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    values: Vec<(String, Value)>,
    places: HashMap<String, usize>,
}

impl Parameters {
    /// No parameters.
    pub fn new() -> Parameters {
        Parameters::default()
    }

    /// Reads the parameters of a request. Of two with one name, the later one counts.
    pub fn from_request(parameters: &[QueryParameter]) -> Result<Parameters, ParameterError> {
        let mut read = Parameters::new();
        for QueryParameter { name, value } in parameters {
            if name.len() < 2 || !name.starts_with('@') {
                return Err(ParameterError::Name(name.clone()));
            }
            let value = Value::from_json(value.get().as_bytes())
                .map_err(|error| ParameterError::Value(name.clone(), error))?;
            read.insert(name, value);
        }
        Ok(read)
    }

    /// Adds a parameter, or replaces the one of that name. A name without its `@` is given one.
    pub fn insert(&mut self, name: &str, value: impl Into<Value>) {
        let name = if name.starts_with('@') { name.to_owned() } else { format!("@{name}") };
        let place = *self.places.entry(name.clone()).or_insert(self.values.len());
        match self.values.get_mut(place) {
            Some((_, known)) => *known = value.into(),
            None => self.values.push((name, value.into())),
        }
    }

    /// The value of a parameter, its name given with the `@`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.places.get(name).map(|place| &self.values[*place].1)
    }

    /// All parameters, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl<N: AsRef<str>, V: Into<Value>> FromIterator<(N, V)> for Parameters {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Parameters {
        let mut parameters = Parameters::new();
        for (name, value) in pairs {
            parameters.insert(name.as_ref(), value);
        }
        parameters
    }
}

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// A name that no query can use.
    Name(String),
    /// A value that is not JSON or nests too deeply.
    Value(String, JsonError),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Name(name) => {
                write!(f, "parameter name {name:?} does not start with @ (try \"@name\")")
            }
            ParameterError::Value(name, error) => write!(f, "the value of parameter {name}: {error}"),
        }
    }
}

impl Error for ParameterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ParameterError::Name(_) => None,
            ParameterError::Value(_, error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::model::QuerySpec;

    use super::*;

    #[test]
    fn the_parameters_of_a_request_are_read_in_order() {
        let spec = QuerySpec::new("q").with_parameter("@b", &[1, 2]).unwrap();
        let spec = spec.with_parameter("@a", "x").unwrap().with_parameter("@b", &true).unwrap();
        let read = Parameters::from_request(&spec.parameters).unwrap();
        assert_eq!(read.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["@b", "@a"]);
        assert_eq!(read.get("@b"), Some(&Value::Bool(true)));
        assert_eq!(read.get("@c"), None);
    }

    #[test]
    fn names_without_an_at_sign_are_refused() {
        for name in ["", "@", "a"] {
            let spec = QuerySpec::new("q").with_parameter(name, &1).unwrap();
            let error = Parameters::from_request(&spec.parameters).unwrap_err();
            assert_eq!(error, ParameterError::Name(name.to_owned()));
        }
    }
}
