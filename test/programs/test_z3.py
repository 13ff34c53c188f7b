# SPDX-License-Identifier: Apache-2.0
"""z3 on three generated problems: a job-shop schedule (integers), a factorisation (bit vectors),
and n queens with a proof that no more fit (uninterpreted functions). The models must be the
same."""

import os
import random

import common


def schedule(jobs=9, machines=5):
    rng = random.Random(7)
    out = ["(set-option :produce-models true)", "(declare-const makespan Int)"]
    steps = []
    for job in range(jobs):
        order = list(range(machines))
        rng.shuffle(order)
        for place, machine in enumerate(order):
            steps.append((job, place, machine, rng.randrange(2, 9)))
    for job, place, _, length in steps:
        name = "s_%d_%d" % (job, place)
        out.append("(declare-const %s Int)(assert (>= %s 0))(assert (<= (+ %s %d) makespan))" % (
            name, name, name, length))
        if place:
            before = next(s for s in steps if s[0] == job and s[1] == place - 1)
            out.append("(assert (>= %s (+ s_%d_%d %d)))" % (name, job, place - 1, before[3]))
    for i, (job, place, machine, length) in enumerate(steps):
        for other, at, same, their in steps[i + 1:]:
            if same == machine and other != job:
                out.append("(assert (or (<= (+ s_%d_%d %d) s_%d_%d) (<= (+ s_%d_%d %d) s_%d_%d)))" % (
                    job, place, length, other, at, other, at, their, job, place))
    for limit in (120, 80, 65, 58, 52, 48, 45):
        out.append("(push)(assert (<= makespan %d))(check-sat)(pop)" % limit)
    out.append("(assert (<= makespan 100))(check-sat)(get-model)")
    return "\n".join(out)


def factors(product=65437 * 60013, bits=17):
    return """
(set-logic QF_BV)
(declare-const a (_ BitVec 40))(declare-const b (_ BitVec 40))
(assert (bvult a (_ bv%d 40)))(assert (bvult b (_ bv%d 40)))
(assert (bvugt a (_ bv1 40)))(assert (bvule a b))
(assert (= (bvmul a b) (_ bv%d 40)))
(check-sat)(get-value (a b))
""" % (1 << bits, 1 << bits, product)


def queens(n=9):
    out = ["(declare-fun q (Int) Int)"]
    for i in range(n):
        out.append("(assert (and (>= (q %d) 0) (< (q %d) %d)))" % (i, i, n))
        for j in range(i):
            out.append("(assert (and (not (= (q %d) (q %d))) (not (= (- (q %d) (q %d)) %d))"
                       "(not (= (- (q %d) (q %d)) %d))))" % (i, j, i, j, i - j, j, i, i - j))
    out.append("(check-sat)(get-value (%s))" % " ".join("(q %d)" % i for i in range(n)))
    # One pigeon more than holes, which has to be refuted.
    holes = 6
    out.append("(declare-fun p (Int) Int)")
    for i in range(holes + 1):
        out.append("(assert (and (>= (p %d) 0) (< (p %d) %d)))" % (i, i, holes))
    out.append("(assert (distinct %s))(check-sat)" % " ".join("(p %d)" % i for i in range(holes + 1)))
    return "\n".join(out)


def test(scratch):
    z3 = common.require("z3", package="z3")
    tiny = os.path.join(scratch, "tiny.smt2")
    with open(tiny, "w") as out:
        out.write("(declare-const x Int)(assert (> x 3))(check-sat)")
    common.bound_to_corbel(common.bindings([z3, tiny], "proxy", scratch))
    for name, text in (("schedule", schedule()), ("factors", factors()), ("queens", queens())):
        path = os.path.join(scratch, name + ".smt2")
        with open(path, "w") as out:
            out.write(text)
        expected = common.run([z3, path], "system", timeout=60)
        actual = common.run([z3, path], "proxy", timeout=60)
        common.check(b"sat" in expected.out and b"error" not in expected.out,
                     "%s is no good problem: %r" % (name, expected.out[:300]))
        common.same(name, expected.out, actual.out)
        common.same("standard error of " + name, expected.err, actual.err)
        common.no_complaint("z3", actual.err)
        print("z3 %s: %d bytes of output, %.1f s and %.1f s" % (
            name, len(actual.out), expected.seconds, actual.seconds))


common.main(test)
