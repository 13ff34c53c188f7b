// SPDX-License-Identifier: Apache-2.0
//! n queens with rayon: the safe placements of one row are a parallel iterator with pieces of one, so
//! that each is a task. The board is that of nqueens.hpp.

use rayon::prelude::*;

#[path = "../harness.rs"]
mod harness;

const LARGEST: usize = 16;
const SOLUTIONS: [u64; LARGEST + 1] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512];

#[derive(Clone, Copy)]
struct Board {
    size: u32,
    rows: u32,
    column: [u8; LARGEST],
}

impl Board {
    fn empty(size: u32) -> Self {
        Board { size, rows: 0, column: [0; LARGEST] }
    }

    fn is_safe(&self, candidate: u32) -> bool {
        (0..self.rows).all(|row| {
            let distance = self.rows - row;
            let other = u32::from(self.column[row as usize]);
            other != candidate && other + distance != candidate && candidate + distance != other
        })
    }

    fn with(mut self, candidate: u32) -> Self {
        self.column[self.rows as usize] = candidate as u8;
        self.rows += 1;
        self
    }
}

fn count(board: &Board) -> u64 {
    if board.rows == board.size {
        return 1;
    }
    let mut safe = [0u32; LARGEST];
    let mut length = 0;
    for column in 0..board.size {
        if board.is_safe(column) {
            safe[length] = column;
            length += 1;
        }
    }
    safe[..length].par_iter().with_max_len(1).map(|&column| count(&board.with(column))).sum()
}

fn main() {
    harness::run(|arguments, outcome| {
        let n = arguments.number("n", 8) as u32;
        harness::check((1..=LARGEST as u32).contains(&n), "n= is from 1 to 16");
        let pool = harness::pool(arguments.threads);
        pool.install(|| count(&Board::empty(5)));
        let (seconds, found) = harness::timed(|| pool.install(|| count(&Board::empty(n))));
        harness::check(found == SOLUTIONS[n as usize], "not the number of solutions");
        outcome.checksum = found;
        outcome.seconds = seconds;
        outcome.value = seconds;
    });
}
