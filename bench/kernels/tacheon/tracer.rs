// SPDX-License-Identifier: Apache-2.0
//! The tracer of tracer.hpp in Rust: the same arithmetic in the same order, so that the picture is
//! the same to the last bit. Change both.
use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Default)]
pub struct Vector {
    pub x: f64,
    pub y: f64,
    pub z: f64,
}

pub const fn vector(x: f64, y: f64, z: f64) -> Vector {
    Vector { x, y, z }
}

impl Add for Vector {
    type Output = Vector;
    fn add(self, b: Vector) -> Vector {
        vector(self.x + b.x, self.y + b.y, self.z + b.z)
    }
}

impl Sub for Vector {
    type Output = Vector;
    fn sub(self, b: Vector) -> Vector {
        vector(self.x - b.x, self.y - b.y, self.z - b.z)
    }
}

impl Mul for Vector {
    type Output = Vector;
    fn mul(self, b: Vector) -> Vector {
        vector(self.x * b.x, self.y * b.y, self.z * b.z)
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;
    fn mul(self, s: f64) -> Vector {
        vector(self.x * s, self.y * s, self.z * s)
    }
}

pub fn dot(a: Vector, b: Vector) -> f64 {
    a.x * b.x + a.y * b.y + a.z * b.z
}

pub fn cross(a: Vector, b: Vector) -> Vector {
    vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

pub fn unit(a: Vector) -> Vector {
    a * (1.0 / dot(a, a).sqrt())
}

fn mix(a: Vector, b: Vector, t: f64) -> Vector {
    a * (1.0 - t) + b * t
}

fn not_negative(a: f64) -> f64 {
    if 0.0 < a {
        a
    } else {
        0.0
    }
}

pub struct Ray {
    from: Vector,
    way: Vector,
    inverse: Vector,
}

impl Ray {
    pub fn new(from: Vector, way: Vector) -> Ray {
        Ray { from, way, inverse: vector(1.0 / way.x, 1.0 / way.y, 1.0 / way.z) }
    }
}

#[derive(Clone, Copy)]
struct Material {
    colour: Vector,
    shine: f64,
    mirror: f64,
}

struct Sphere {
    centre: Vector,
    radius: f64,
    material: Material,
}

struct Block {
    low: Vector,
    high: Vector,
    material: Material,
}

struct Lamp {
    place: Vector,
    colour: Vector,
}

struct Hit {
    distance: f64,
    normal: Vector,
    material: Material,
}

const NEAR: f64 = 1e-6;
const DEEPEST: u32 = 4;

/// The part of a ray that is in a block, and the axis across whose side it enters.
struct Span {
    begin: f64,
    end: f64,
    axis: usize,
}

impl Span {
    fn narrow(&mut self, low: f64, high: f64, from: f64, inverse: f64, axis: usize) {
        let (mut first, mut second) = ((low - from) * inverse, (high - from) * inverse);
        if first > second {
            std::mem::swap(&mut first, &mut second);
        }
        if first > self.begin {
            self.begin = first;
            self.axis = axis;
        }
        if second < self.end {
            self.end = second;
        }
    }
}

fn enter(low: &Vector, high: &Vector, ray: &Ray) -> (f64, usize) {
    let mut span = Span { begin: -1e30, end: 1e30, axis: 0 };
    span.narrow(low.x, high.x, ray.from.x, ray.inverse.x, 0);
    span.narrow(low.y, high.y, ray.from.y, ray.inverse.y, 1);
    span.narrow(low.z, high.z, ray.from.z, ray.inverse.z, 2);
    (if span.begin <= span.end { span.begin } else { -1.0 }, span.axis)
}

fn meet(sphere: &Sphere, ray: &Ray) -> f64 {
    let to = sphere.centre - ray.from;
    let along = dot(to, ray.way);
    let inside = sphere.radius * sphere.radius - (dot(to, to) - along * along);
    if inside < 0.0 {
        -1.0
    } else {
        along - inside.sqrt()
    }
}

pub struct Scene {
    spheres: Vec<Sphere>,
    blocks: Vec<Block>,
    low: Vector,
    high: Vector,
    lamps: [Lamp; 2],
}

impl Scene {
    fn nearest(&self, ray: &Ray) -> Option<Hit> {
        let mut nearest = 1e30;
        let mut sphere_met = None;
        for sphere in &self.spheres {
            let distance = meet(sphere, ray);
            if distance <= NEAR || distance >= nearest {
                continue;
            }
            nearest = distance;
            sphere_met = Some(sphere);
        }
        let mut block_met = None;
        if self.near_blocks(ray) {
            for block in &self.blocks {
                let (distance, axis) = enter(&block.low, &block.high, ray);
                if distance <= NEAR || distance >= nearest {
                    continue;
                }
                nearest = distance;
                block_met = Some((block, axis));
            }
        }
        let floor = -ray.from.y * ray.inverse.y;
        if floor > NEAR && floor < nearest {
            let material = floor_at(ray.from + ray.way * floor);
            return Some(Hit { distance: floor, normal: vector(0.0, 1.0, 0.0), material });
        }
        if let Some((block, axis)) = block_met {
            let side = |i: usize, way: f64| match (axis == i, way > 0.0) {
                (false, _) => 0.0,
                (true, true) => -1.0,
                (true, false) => 1.0,
            };
            let normal = vector(side(0, ray.way.x), side(1, ray.way.y), side(2, ray.way.z));
            return Some(Hit { distance: nearest, normal, material: block.material });
        }
        sphere_met.map(|sphere| {
            let out = ray.from + ray.way * nearest - sphere.centre;
            let normal = out * (1.0 / sphere.radius);
            Hit { distance: nearest, normal, material: sphere.material }
        })
    }

    fn shadowed(&self, ray: &Ray, distance: f64) -> bool {
        let between = |met: f64| met > NEAR && met < distance;
        self.spheres.iter().any(|sphere| between(meet(sphere, ray)))
            || (self.near_blocks(ray)
                && self.blocks.iter().any(|b| between(enter(&b.low, &b.high, ray).0)))
    }

    pub fn colour(&self, ray: &Ray, jitter_x: f64, jitter_z: f64, depth: u32) -> Vector {
        let Some(hit) = self.nearest(ray) else { return sky(ray.way) };
        let place = ray.from + ray.way * hit.distance;
        let start = place + hit.normal * 1e-4;
        let mut light = hit.material.colour * vector(0.16, 0.18, 0.24);
        let mut highlight = Vector::default();
        for lamp in &self.lamps {
            let moved = vector(jitter_x - 0.5, 0.0, jitter_z - 0.5);
            let to = lamp.place + moved - start;
            let distance = dot(to, to).sqrt();
            let way = to * (1.0 / distance);
            let facing = dot(way, hit.normal);
            if facing <= 0.0 || self.shadowed(&Ray::new(start, way), distance) {
                continue;
            }
            light = light + hit.material.colour * lamp.colour * facing;
            let mut power = dot(unit(way - ray.way), hit.normal);
            for _ in 0..6 {
                power = power * power;
            }
            highlight = highlight + lamp.colour * (power * hit.material.shine);
        }
        if hit.material.mirror > 0.0 && depth < DEEPEST {
            let facing = -dot(ray.way, hit.normal);
            let way = unit(ray.way + hit.normal * (2.0 * facing));
            let rest = 1.0 - not_negative(facing);
            let mirror = hit.material.mirror;
            let share = mirror + (1.0 - mirror) * (rest * rest * rest * rest * rest);
            let seen = self.colour(&Ray::new(start, way), jitter_x, jitter_z, depth + 1);
            light = mix(light, seen, share);
        }
        mix(light + highlight, sky(ray.way), haze(hit.distance))
    }

    fn near_blocks(&self, ray: &Ray) -> bool {
        let inside = ray.from.x >= self.low.x
            && ray.from.x <= self.high.x
            && ray.from.y >= self.low.y
            && ray.from.y <= self.high.y
            && ray.from.z >= self.low.z
            && ray.from.z <= self.high.z;
        inside || enter(&self.low, &self.high, ray).0 > NEAR
    }
}

fn floor_at(place: Vector) -> Material {
    if (place.x.floor() as i64 + place.z.floor() as i64) & 1 != 0 {
        Material { colour: vector(0.16, 0.19, 0.26), shine: 0.1, mirror: 0.16 }
    } else {
        Material { colour: vector(0.78, 0.74, 0.66), shine: 0.1, mirror: 0.06 }
    }
}

fn sky(way: Vector) -> Vector {
    let up = not_negative(way.y);
    let rise = 1.0 - (1.0 - up) * (1.0 - up) * (1.0 - up);
    mix(vector(0.98, 0.72, 0.50), vector(0.16, 0.33, 0.66), rise)
}

fn haze(distance: f64) -> f64 {
    let far = distance * 0.03;
    far * far / (1.0 + far * far)
}

fn shade(stone: u32) -> f64 {
    f64::from((stone + 1).wrapping_mul(2654435761) >> 16) / 65536.0
}

/// The stones of the arch: the courses stand out further and further, up to the capstones.
fn stones() -> Vec<Block> {
    const COURSES: u32 = 7;
    let mut blocks: Vec<Block> = Vec::new();
    let mut put = |low: Vector, high: Vector| {
        let light = 0.80 + 0.28 * shade(blocks.len() as u32);
        let colour = vector(0.82, 0.68, 0.52) * light;
        blocks.push(Block { low, high, material: Material { colour, shine: 0.05, mirror: 0.0 } });
    };
    for i in 0..COURSES {
        let n = f64::from(i);
        let bottom = 0.5 * n;
        let top = bottom + 0.48;
        let inner = 2.2 - 0.05 * n * n - 0.03 * n;
        for left in [true, false] {
            for inward in [true, false] {
                let middle = inner + if i % 2 == 0 { 0.55 } else { 0.95 };
                let from = if inward { inner } else { middle + 0.02 };
                let to = if inward { middle } else { 3.6 };
                let (low, high) = if left { (-to, -from) } else { (from, to) };
                put(vector(low, bottom, -0.6), vector(high, top, 0.6));
            }
        }
    }
    let bottom = 0.5 * f64::from(COURSES);
    let top = bottom + 0.42;
    for (low, high) in [(-1.6, 1.6), (-3.6, -1.62), (1.62, 3.6)] {
        put(vector(low, bottom, -0.6), vector(high, top, 0.6));
    }
    blocks
}

pub fn corbel_arch() -> Scene {
    let ball = |x, z, radius, colour, shine, mirror| Sphere {
        centre: vector(x, radius, z),
        radius,
        material: Material { colour, shine, mirror },
    };
    let mut spheres = vec![
        ball(0.0, 0.2, 1.05, vector(0.95, 0.95, 0.97), 0.9, 0.85),
        ball(-2.6, -2.4, 0.62, vector(0.78, 0.10, 0.12), 0.8, 0.15),
        ball(2.3, -2.9, 0.50, vector(0.08, 0.42, 0.46), 0.8, 0.15),
        ball(1.35, -2.0, 0.30, vector(0.95, 0.70, 0.12), 0.8, 0.10),
        ball(-1.2, -3.3, 0.34, vector(0.92, 0.92, 0.90), 0.8, 0.40),
        ball(-3.9, -1.4, 0.40, vector(0.15, 0.30, 0.70), 0.8, 0.15),
        ball(4.4, 0.8, 0.85, vector(0.45, 0.20, 0.55), 0.8, 0.20),
        ball(-5.2, 2.6, 1.10, vector(0.20, 0.50, 0.25), 0.6, 0.10),
    ];
    let gold = Material { colour: vector(0.95, 0.76, 0.35), shine: 1.0, mirror: 0.45 };
    let centre = vector(0.0, 0.5 * 7.0 + 0.42 + 0.45, 0.0);
    spheres.push(Sphere { centre, radius: 0.45, material: gold });
    Scene {
        spheres,
        blocks: stones(),
        low: vector(-3.6, 0.0, -0.6),
        high: vector(3.6, 0.5 * 7.0 + 0.42, 0.6),
        lamps: [
            Lamp { place: vector(-5.5, 8.0, -7.5), colour: vector(0.86, 0.78, 0.66) },
            Lamp { place: vector(7.0, 5.5, -4.0), colour: vector(0.20, 0.24, 0.34) },
        ],
    }
}
