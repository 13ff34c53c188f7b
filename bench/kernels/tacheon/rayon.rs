// SPDX-License-Identifier: Apache-2.0
//! tacheon with rayon: a parallel iterator over the tiles in pieces of half to all of the grain size, as
//! halving gives for a blocked range. The tiles, the reference and the
//! checksum are those of tacheon.hpp.
use rayon::prelude::*;

#[path = "../harness.rs"]
mod harness;
#[path = "tracer.rs"]
mod tracer;

use tracer::{cross, unit, vector, Ray, Scene, Vector};

const WIDTH: usize = 400;
const HEIGHT: usize = 300;
const TILE: usize = 4;
const COLUMNS: usize = WIDTH / TILE;
const TILES: usize = COLUMNS * (HEIGHT / TILE);
const REFERENCE: &str = include!("reference.inc");

/// The three levels of the pixels of one tile, row by row.
type Tile = [u8; 3 * TILE * TILE];

fn level(light: f64) -> u8 {
    (light.clamp(0.0, 1.0).sqrt() * 255.0 + 0.5) as u8
}

fn pixel(scene: &Scene, x: usize, y: usize) -> [u8; 3] {
    let eye = vector(-2.1, 2.35, -9.6);
    let ahead = unit(vector(0.05, 1.62, 0.0) - eye);
    let right = unit(cross(vector(0.0, 1.0, 0.0), ahead));
    let up = cross(ahead, right);
    let mut sum = Vector::default();
    for sample in 0..4 {
        let a = 0.25 + 0.5 * f64::from(sample % 2);
        let b = 0.25 + 0.5 * f64::from(sample / 2);
        let across = (x as f64 + a - WIDTH as f64 * 0.5) / HEIGHT as f64;
        let down = (y as f64 + b - HEIGHT as f64 * 0.5) / HEIGHT as f64;
        let way = unit(ahead * 1.25 + right * across - up * down);
        sum = sum + scene.colour(&Ray::new(eye, way), b, 1.0 - a, 0);
    }
    [level(sum.x * 0.25), level(sum.y * 0.25), level(sum.z * 0.25)]
}

fn draw(scene: &Scene, tile: usize) -> Tile {
    let mut drawn = [0; 3 * TILE * TILE];
    let (left, top) = (tile % COLUMNS * TILE, tile / COLUMNS * TILE);
    for (i, levels) in drawn.chunks_exact_mut(3).enumerate() {
        levels.copy_from_slice(&pixel(scene, left + i % TILE, top + i / TILE));
    }
    drawn
}

/// The number of sums in which the tiles differ from the reference.
fn differing(tiles: &[Tile], step: usize) -> usize {
    let expected = |i: usize| {
        let text = REFERENCE.get(3 * i..3 * i + 3).unwrap_or("");
        i64::from_str_radix(text, 16).unwrap_or(-1_000_000)
    };
    let apart = |tile: usize| {
        let channel = |c: usize| tiles[tile / step].iter().skip(c).step_by(3);
        let sum = |c: usize| channel(c).map(|&level| i64::from(level)).sum::<i64>();
        (0..3).filter(|&c| (sum(c) - expected(3 * tile + c)).abs() > (TILE * TILE) as i64).count()
    };
    (0..TILES.div_ceil(step)).map(|i| apart(i * step)).sum()
}

fn checksum(picture: &[u8]) -> u64 {
    picture.iter().fold(0xCBF2_9CE4_8422_2325, |sum: u64, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// The whole picture; tiles that were not drawn stay black.
fn picture_of(tiles: &[Tile], step: usize) -> Vec<u8> {
    let mut picture = vec![0; 3 * WIDTH * HEIGHT];
    for (tile, levels) in tiles.iter().enumerate().map(|(i, levels)| (i * step, levels)) {
        let (left, top) = (tile % COLUMNS * TILE, tile / COLUMNS * TILE);
        for (row, line) in levels.chunks_exact(3 * TILE).enumerate() {
            let from = 3 * ((top + row) * WIDTH + left);
            picture[from..from + line.len()].copy_from_slice(line);
        }
    }
    picture
}

fn ppm(picture: Vec<u8>) -> Vec<u8> {
    [format!("P6 {WIDTH} {HEIGHT} 255\n").into_bytes(), picture].concat()
}

fn main() {
    harness::run(|arguments, outcome| {
        let grain = arguments.number("grain", 50) as usize;
        let step = arguments.number("step", 1) as usize;
        harness::check(step > 0, "step= is at least 1");
        let frames = arguments.number("frames", 1);
        let image = arguments.text("image", "");
        let scene = tracer::corbel_arch();
        let pool = harness::pool(arguments.threads);
        let mut tiles = vec![[0; 3 * TILE * TILE]; TILES.div_ceil(step)];
        let draw_all = |tiles: &mut [Tile], grain: usize| {
            tiles
                .par_iter_mut()
                .with_min_len((grain / 2).max(1))
                .with_max_len(grain)
                .enumerate()
                .for_each(|(i, tile)| *tile = draw(&scene, i * step));
        };
        let few = TILES.div_ceil(step).min(64);
        pool.install(|| draw_all(&mut tiles[..few], 1)); // warms the library up
        let (seconds, ()) = harness::timed(|| {
            pool.install(|| {
                for _ in 0..frames {
                    draw_all(&mut tiles, grain);
                }
            });
        });
        if !image.is_empty() {
            let written = std::fs::write(&image, ppm(picture_of(&tiles, step)));
            harness::check(written.is_ok(), "cannot write the file");
        }
        let differing = differing(&tiles, step);
        harness::check(differing == 0, "the picture is not the reference");
        outcome.extra.insert("sums that differ".to_string(), differing as f64);
        outcome.value = seconds;
        outcome.seconds = seconds;
        outcome.checksum = checksum(&picture_of(&tiles, step));
    });
}
