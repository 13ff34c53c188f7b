// SPDX-License-Identifier: Apache-2.0
//! The Fibonacci recursion with rayon's join, and the serial program of fibonacci.hpp.

#[inline(never)]
pub fn serial(mut n: u32) -> u64 {
    let mut sum = 0;
    while n >= 2 {
        sum += serial(n - 1);
        n -= 2;
    }
    sum + u64::from(n)
}

pub fn parallel(n: u32, cutoff: u32) -> u64 {
    if n < cutoff {
        return if n < 2 { u64::from(n) } else { serial(n) };
    }
    let (a, b) = rayon::join(|| parallel(n - 1, cutoff), || parallel(n - 2, cutoff));
    a + b
}

/// The same number without recursion, to check the other.
pub fn by_addition(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}
