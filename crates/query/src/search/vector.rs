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
                let dot = pairs().map(|(x, y)| x * y).sum::<f64>();
                // One root, as the service has it: two would round differently.
                let product = squares(a) * squares(b);
                if product.is_normal() { dot / product.sqrt() } else { scaled_cosine(a, b) }
            }
        };
        distance.is_finite().then_some(distance)
    }
}

/// The cosine of vectors whose squares are too large or too small for a number, by vectors of the same direction.
fn scaled_cosine(a: &[f64], b: &[f64]) -> f64 {
    let largest = |vector: &[f64]| vector.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let (by_a, by_b) = (largest(a), largest(b));
    let (mut dot, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().map(|x| x / by_a).zip(b.iter().map(|y| y / by_b)) {
        (dot, of_a, of_b) = (dot + x * y, of_a + x * x, of_b + y * y);
    }
    dot / (of_a * of_b).sqrt()
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
    fn a_cosine_does_not_depend_on_how_long_vectors_are() {
        let direction = [3.0, 4.0];
        for (a, b) in [(1e200, 1e200), (1e-200, 1e-200), (1e200, 1e-200), (1e150, 1e30), (1e-300, 1.0)] {
            let scaled = |by: f64| direction.map(|x| x * by);
            let found = Metric::Cosine.between(&scaled(a), &scaled(b)).unwrap();
            assert!((found - 1.0).abs() < 1e-12, "{a} {b}: {found}");
            let apart = Metric::Cosine.between(&scaled(a), &[-4.0 * b, 3.0 * b]).unwrap();
            assert!(apart.abs() < 1e-12, "{a} {b}: {apart}");
        }
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
