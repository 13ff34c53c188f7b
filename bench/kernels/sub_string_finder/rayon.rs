// SPDX-License-Identifier: Apache-2.0
//! sub_string_finder with rayon: a parallel iterator over the positions in pieces of half to all of the
//! grain size, as halving gives for a blocked range. The text, the work and the
//! checksum are those of sub_string_finder.hpp.
use rayon::prelude::*;

#[path = "../harness.rs"]
mod harness;

#[derive(Clone, Copy, Default)]
struct Match {
    length: u32,
    place: u32,
}

fn fibonacci_word(order: u64) -> Vec<u8> {
    let (mut before, mut word) = (b"b".to_vec(), b"a".to_vec());
    for _ in 1..order {
        let next = [word.as_slice(), before.as_slice()].concat();
        before = std::mem::replace(&mut word, next);
    }
    word
}

fn longest(text: &[u8], i: usize) -> Match {
    let mut found = Match::default();
    for j in (0..text.len()).filter(|&j| j != i) {
        let (here, there) = (&text[i..], &text[j..]);
        let length = here.iter().zip(there).take_while(|(a, b)| a == b).count() as u32;
        if length > found.length {
            found = Match { length, place: j as u32 };
        }
    }
    found
}

/// Checks that each match is one. The checksum shows the lab that none is longer.
fn check(text: &[u8], found: &[Match]) {
    for (i, m) in found.iter().enumerate() {
        let (place, length) = (m.place as usize, m.length as usize);
        harness::check(length == 0 || place != i, "a match with itself");
        let same = text.get(i..i + length) == text.get(place..place + length);
        harness::check(same, "a match whose letters differ");
    }
}

fn checksum(found: &[Match]) -> u64 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    found.iter().fold(found.len() as u64, |sum, m| {
        let sum = (sum ^ u64::from(m.length)).wrapping_mul(MULTIPLIER);
        (sum ^ u64::from(m.place)).wrapping_mul(MULTIPLIER)
    })
}

fn main() {
    harness::run(|arguments, outcome| {
        let text = fibonacci_word(arguments.number("order", 17));
        let grain = arguments.number("grain", 100) as usize;
        let pool = harness::pool(arguments.threads);
        let mut found = vec![Match::default(); text.len()];
        let find = |found: &mut [Match], grain: usize| {
            pool.install(|| {
                found
                    .par_iter_mut()
                    .enumerate()
                    .with_min_len((grain / 2).max(1))
                    .with_max_len(grain)
                    .for_each(|(i, m)| *m = longest(&text, i));
            });
        };
        find(&mut found[..text.len().min(64)], 1); // starts the threads
        found.fill(Match::default());
        let (seconds, ()) = harness::timed(|| find(&mut found, grain));
        check(&text, &found);
        outcome.value = seconds;
        outcome.seconds = seconds;
        outcome.checksum = checksum(&found);
    });
}
