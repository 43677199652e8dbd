//! Lengths and areas on the ellipsoid WGS-84, whose points are given on a sphere.
//!
//! The ellipsoid is a sphere of radius 1, stretched along its axes. A plane through the centre stays one, so the section of
//! the ellipsoid through two points and the centre, the great elliptic arc, is the arc of a great circle on the sphere.

use super::vector::{NORTH, Vector, angle, cross, dot, length, minus, normal, plus, times, unit};

/// The radius of the equator in metres.
const EQUATORIAL: f64 = 6_378_137.0;
/// How much shorter the axis is than the equator's diameter.
const FLATTENING: f64 = 1.0 / 298.257223563;
/// The distance of the poles from the centre in metres.
pub(super) const POLAR: f64 = EQUATORIAL * (1.0 - FLATTENING);
/// The square of the eccentricity of a meridian.
const ECCENTRICITY: f64 = FLATTENING * (2.0 - FLATTENING);
/// The same of the equator's view from the axis: (a² − b²) / b².
const SECOND_ECCENTRICITY: f64 = ECCENTRICITY / (1.0 - ECCENTRICITY);

/// Where the quadrature looks, in halves of a stretch from its middle, and how much that counts.
const LOOKS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
];

/// The point of the sphere at a longitude and a latitude in degrees.
pub(super) fn on_sphere(longitude: f64, latitude: f64) -> Vector {
    let (latitude, longitude) = (latitude.to_radians(), longitude.to_radians());
    let (across, up) = (latitude.cos(), (1.0 - FLATTENING) * latitude.sin());
    unit([across * longitude.cos(), across * longitude.sin(), up])
}

/// The arc between two points: where it starts, its direction there, and its angle.
pub(super) struct Arc {
    start: Vector,
    direction: Vector,
    pub(super) angle: f64,
}

impl Arc {
    /// The shorter arc. Of the many between opposite points, the one over the north pole is among the shortest.
    pub(super) fn between(a: Vector, b: Vector) -> Arc {
        let towards = minus(b, times(a, dot(a, b)));
        let direction = match length(towards) {
            off if off > 1e-15 => times(towards, 1.0 / off),
            _ if dot(a, b) > 0.0 => [0.0; 3],
            _ => any_direction(a),
        };
        Arc { start: a, direction, angle: angle(a, b) }
    }

    /// The point at an angle from the start.
    pub(super) fn at(&self, angle: f64) -> Vector {
        plus(times(self.start, angle.cos()), times(self.direction, angle.sin()))
    }

    /// The angle of the point on the circle of the arc that is nearest to `p`, from -π to π.
    pub(super) fn foot(&self, p: Vector) -> f64 {
        dot(p, self.direction).atan2(dot(p, self.start))
    }

    /// Its length on the ellipsoid, in metres.
    pub(super) fn length(&self) -> f64 {
        let speed = |angle: f64| {
            let up = self.direction[2] * angle.cos() - self.start[2] * angle.sin();
            (1.0 - ECCENTRICITY * up * up).sqrt()
        };
        EQUATORIAL * integral(self.angle, &speed)
    }
}

/// A direction from a point along its meridian.
fn any_direction(a: Vector) -> Vector {
    let north = minus(NORTH, times(a, a[2]));
    if length(north) > 1e-9 { unit(north) } else { [1.0, 0.0, 0.0] }
}

/// The area on the left of rings together, in square metres. Each goes on from its last point to its first.
pub(super) fn area(rings: &[Vec<Vector>]) -> f64 {
    let (mut solid_angle, mut correction) = (0.0, 0.0);
    for ring in rings {
        let Some(first) = ring.first() else { continue };
        for edge in ring.windows(2) {
            solid_angle += triangle(*first, edge[0], edge[1]);
        }
        let next = ring.iter().skip(1).chain(std::iter::once(first));
        correction += ring.iter().zip(next).map(|(a, b)| edge_correction(*a, *b)).sum::<f64>();
    }
    let whole = 4.0 * std::f64::consts::PI;
    // The inside of a ring and its outside differ in sign alone, and only up to the whole globe.
    let mut solid_angle = solid_angle % whole;
    if solid_angle < 0.0 {
        solid_angle += whole;
    }
    let mean: f64 = terms().iter().sum();
    (EQUATORIAL * POLAR * (mean * solid_angle + correction)).max(0.0)
}

/// The solid angle of a triangle, below zero if its corners go clockwise.
fn triangle(a: Vector, b: Vector, c: Vector) -> f64 {
    let volume = dot(a, cross(minus(b, a), minus(c, a)));
    2.0 * volume.atan2(1.0 + dot(a, b) + dot(b, c) + dot(c, a))
}

/// What the area on the left of an edge has more than its share of the solid angle.
///
/// The area between the equator and the height z is the integral of `√(1 + e'²z²)`, a sum of powers of z. What each has
/// more than a sphere of the same area is a multiple of `1 - z²`, so what is left to integrate is smooth at the poles.
fn edge_correction(a: Vector, b: Vector) -> f64 {
    let arc = Arc::between(a, b);
    let across = normal(a, b);
    if arc.angle == 0.0 || across == [0.0; 3] {
        return 0.0;
    }
    let terms = terms();
    let excess = |angle: f64| {
        let height = arc.at(angle)[2];
        let square = height * height;
        let (mut sum, mut powers, mut power) = (0.0, 0.0, 1.0);
        for term in &terms[1..] {
            powers += power;
            power *= square;
            sum += term * powers;
        }
        sum * height
    };
    unit(across)[2] * integral(arc.angle, &excess)
}

/// The parts of the area between equator and pole by powers of the second eccentricity.
fn terms() -> [f64; 7] {
    let (mut terms, mut binomial) = ([0.0; 7], 1.0);
    for (nth, term) in terms.iter_mut().enumerate() {
        let n = nth as f64;
        *term = binomial / (2.0 * n + 1.0);
        binomial *= (0.5 - n) / (n + 1.0) * SECOND_ECCENTRICITY;
    }
    terms
}

/// The integral from 0 to an angle of at most π, by Gauss and Legendre.
fn integral(angle: f64, f: &dyn Fn(f64) -> f64) -> f64 {
    let parts = if angle > std::f64::consts::FRAC_PI_2 { 2 } else { 1 };
    let half = angle / f64::from(2 * parts);
    let part = |nth: i32| {
        let middle = half * f64::from(2 * nth + 1);
        let looks = LOOKS.iter().map(|(at, weight)| weight * (f(middle - half * at) + f(middle + half * at)));
        half * looks.sum::<f64>()
    };
    (0..parts).map(part).sum()
}
