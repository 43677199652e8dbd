//! Vectors of space, as points of the globe are.

/// A vector.
pub(super) type Vector = [f64; 3];

/// The axis of the globe, to the north.
pub(super) const NORTH: Vector = [0.0, 0.0, 1.0];

pub(super) fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn plus(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn times(a: Vector, factor: f64) -> Vector {
    [a[0] * factor, a[1] * factor, a[2] * factor]
}

pub(super) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn length(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

/// The vector of length 1 in the same direction.
pub(super) fn unit(a: Vector) -> Vector {
    times(a, 1.0 / length(a))
}

/// A vector at right angles to both, exact also where the two are close to each other.
pub(super) fn normal(a: Vector, b: Vector) -> Vector {
    cross(a, minus(b, a))
}

/// The angle between two vectors of length 1.
pub(super) fn angle(a: Vector, b: Vector) -> f64 {
    2.0 * length(minus(a, b)).atan2(length(plus(a, b)))
}
