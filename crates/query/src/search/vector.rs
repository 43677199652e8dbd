//! The distance between two vectors.

use crate::raw::RawJson;
use crate::value::Kind;

/// How the distance between two vectors is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The cosine of the angle between them: 1 if they point the same way.
    #[default]
    Cosine,
    /// Their dot product.
    DotProduct,
    /// The length of their difference.
    Euclidean,
}

impl Metric {
    /// The metric of a name, in any case.
    pub fn of_name(name: &str) -> Option<Metric> {
        let known = [
            ("cosine", Metric::Cosine),
            ("dotproduct", Metric::DotProduct),
            ("euclidean", Metric::Euclidean),
        ];
        known.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, metric)| metric)
    }

    /// Whether the greatest number means the nearest vector.
    pub fn is_greatest_nearest(self) -> bool {
        match self {
            Metric::Cosine | Metric::DotProduct => true,
            Metric::Euclidean => false,
        }
    }

    /// The distance; none between vectors of different lengths, and no cosine with a vector of zeros.
    pub fn between(self, a: &[f64], b: &[f64]) -> Option<f64> {
        if a.len() != b.len() || a.is_empty() {
            return None;
        }
        let pairs = || a.iter().zip(b);
        let distance = match self {
            Metric::DotProduct => pairs().map(|(x, y)| x * y).sum::<f64>(),
            Metric::Euclidean => pairs().map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt(),
            Metric::Cosine => {
                let squares = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>();
                // One root, as the service has it: two would round differently.
                pairs().map(|(x, y)| x * y).sum::<f64>() / (squares(a) * squares(b)).sqrt()
            }
        };
        distance.is_finite().then_some(distance)
    }
}

/// The vector that a JSON array is; none if it is anything but an array of numbers.
pub fn read_vector(json: RawJson<'_>) -> Option<Vec<f64>> {
    if json.kind() != Kind::Array {
        return None;
    }
    json.elements()
        .map(|element| if element.kind() == Kind::Number { element.as_number() } else { None })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_service() {
        let (a, b) = ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]);
        for (name, distance) in
            [("Cosine", 0.9925833339709302), ("dotProduct", 20.0), ("euclidean", 1.7320508075688772)]
        {
            assert_eq!(Metric::of_name(name).unwrap().between(&a, &b), Some(distance), "{name}");
        }
        assert_eq!(Metric::of_name("handMeasured"), None);
    }

    #[test]
    fn what_cannot_be_compared_has_no_distance() {
        for metric in [Metric::Cosine, Metric::DotProduct, Metric::Euclidean] {
            assert_eq!(metric.between(&[1.0], &[1.0, 2.0]), None, "{metric:?}");
            assert_eq!(metric.between(&[], &[]), None, "{metric:?}");
        }
        assert_eq!(Metric::Cosine.between(&[0.0], &[1.0]), None);
    }

    #[test]
    fn vectors_are_arrays_of_numbers() {
        for (json, vector) in [
            ("[1, 2.5, -3e1]", Some(vec![1.0, 2.5, -30.0])),
            ("[]", Some(vec![])),
            ("[1,\"2\"]", None),
            ("[[1],2]", None),
            ("{\"a\":1}", None),
            ("1", None),
        ] {
            assert_eq!(read_vector(RawJson::new(json.as_bytes())), vector, "{json}");
        }
    }
}
