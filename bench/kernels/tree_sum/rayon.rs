// SPDX-License-Identifier: Apache-2.0
//! tree_sum with rayon's join for the two subtrees of a node. The tree, the order of addition and
//! the checksum are those of tree_sum.hpp; a Box is a malloc, so the allocator can be chosen.

#[path = "../harness.rs"]
mod harness;

struct Node {
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
    nodes: u32,
    value: f32,
}

#[derive(Clone, Copy)]
struct Part {
    first: u32,
    nodes: u32,
}

impl Part {
    fn left(self) -> Part {
        Part { first: self.first + 1, nodes: (self.nodes - 1) / 2 }
    }

    fn right(self) -> Part {
        let left = self.left().nodes;
        Part { first: self.first + 1 + left, nodes: self.nodes - 1 - left }
    }
}

fn value_of(number: u32) -> f32 {
    0.5 + (number % 1024) as f32
}

fn lone_node(part: Part) -> Box<Node> {
    Box::new(Node { left: None, right: None, nodes: part.nodes, value: value_of(part.first) })
}

fn generate_serially(part: Part) -> Box<Node> {
    let mut node = lone_node(part);
    if part.left().nodes > 0 {
        node.left = Some(generate_serially(part.left()));
    }
    if part.right().nodes > 0 {
        node.right = Some(generate_serially(part.right()));
    }
    node
}

fn generate(part: Part, cutoff: u32) -> Box<Node> {
    if part.nodes < cutoff {
        return generate_serially(part);
    }
    let mut node = lone_node(part);
    let Node { left, right, .. } = &mut *node;
    rayon::join(
        || *left = Some(generate(part.left(), cutoff)),
        || *right = Some(generate(part.right(), cutoff)),
    );
    node
}

fn sum_serially(node: &Node) -> f32 {
    let mut result = node.value;
    if let Some(left) = &node.left {
        result += sum_serially(left);
    }
    if let Some(right) = &node.right {
        result += sum_serially(right);
    }
    result
}

fn sum(node: &Node, cutoff: u32) -> f32 {
    match (&node.left, &node.right) {
        (Some(left), Some(right)) if node.nodes >= cutoff => {
            let (a, b) = rayon::join(|| sum(left, cutoff), || sum(right, cutoff));
            node.value + a + b
        }
        _ => sum_serially(node),
    }
}

fn check_tree(node: &Node, part: Part) {
    let own = node.nodes == part.nodes && node.value == value_of(part.first);
    harness::check(own, "a node");
    for (subtree, part) in [(&node.left, part.left()), (&node.right, part.right())] {
        harness::check(subtree.is_some() == (part.nodes > 0), "a subtree");
        if let Some(subtree) = subtree {
            check_tree(subtree, part);
        }
    }
}

fn check_sum(found: f32, nodes: u32) {
    let expected: f64 = (0..nodes).map(|i| f64::from(value_of(i))).sum();
    harness::check((f64::from(found) - expected).abs() <= 1e-5 * expected, "the sum");
}

fn main() {
    harness::run(|arguments, outcome| {
        let nodes = arguments.number("nodes", 100_000) as u32;
        let cutoff = arguments.number("cutoff", 100) as u32;
        let sums = arguments.number("sums", 1);
        let phase = arguments.text("phase", "allocation");
        let summation = phase == "summation";
        let known = summation || phase == "allocation";
        harness::check(known, "phase= is one of allocation and summation");
        let enough = nodes >= 1 && cutoff >= 3 && sums >= 1;
        harness::check(enough, "nodes=, sums= or cutoff= is too small");
        let pool = harness::pool(arguments.threads);
        let make = |nodes, cutoff| pool.install(|| generate(Part { first: 0, nodes }, cutoff));
        let add = |tree: &Node, cutoff| pool.install(|| sum(tree, cutoff));
        let small = make(1000, 3);
        add(&small, 3); // starts the threads

        let (allocation_seconds, tree) = harness::timed(|| make(nodes, cutoff));
        let (sums_seconds, total) = harness::timed(|| {
            let again = |_, _| std::hint::black_box(sum(&tree, cutoff));
            pool.install(|| (0..sums).fold(0.0, again))
        });

        check_tree(&tree, Part { first: 0, nodes });
        check_sum(total, nodes);
        let sum_seconds = sums_seconds / sums as f64;
        outcome.seconds = if summation { sums_seconds } else { allocation_seconds };
        outcome.value = if summation { sum_seconds } else { allocation_seconds };
        outcome.extra.insert("allocation s".to_string(), allocation_seconds);
        outcome.extra.insert("summation s".to_string(), sum_seconds);
        outcome.checksum = u64::from(nodes) << 32 | u64::from(total.to_bits());
        // As in C++ the trees are not freed.
        std::mem::forget((tree, small));
    });
}
