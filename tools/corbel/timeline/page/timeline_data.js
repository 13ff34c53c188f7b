// SPDX-License-Identifier: Apache-2.0
// The trace as typed arrays: timeline_page.cpp describes what is decoded here.
'use strict';

const CALL = 0, WAIT = 1, IDLE = 2, TASK = 3;  // TASK + function

// Numbers of 7 bits a byte, from base64.
class Numbers {
  constructor(text) {
    const raw = atob(text);
    this.bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; ++i) this.bytes[i] = raw.charCodeAt(i);
    this.at = 0;
  }
  next() {
    let value = 0, scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }
}

// The index of the first number in sorted[from, to) that is greater than `value`.
function upperBound(sorted, value, from = 0, to = sorted.length) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (sorted[middle] > value) to = middle; else from = middle + 1;
  }
  return from;
}

// Grows as it is filled.
class Growing {
  constructor(Type, room = 64) { this.array = new Type(room); this.length = 0; }
  push(value) {
    if (this.length === this.array.length) {
      const larger = new this.array.constructor(2 * this.length);
      larger.set(this.array);
      this.array = larger;
    }
    this.array[this.length++] = value;
  }
  done() { return this.array.slice(0, this.length); }
}

// One thread. `rows[depth]` has the indices of the events at that depth, which do not overlap.
class Lane {
  constructor(name, numbers) {
    this.name = name;
    const n = this.count = numbers.next();
    this.begin = new Float64Array(n);
    this.end = new Float64Array(n);
    this.code = new Uint16Array(n);
    this.depth = new Uint8Array(n);
    let time = 0;
    for (let i = 0; i < n; ++i) {
      time += numbers.next();
      this.begin[i] = time;
      this.end[i] = time + numbers.next();
      this.code[i] = numbers.next();
    }
    this.folded = false;
  }

  // Finds the depths, the time that each event has for itself, and when the thread is busy: when
  // the innermost event is a task or a call. add(code, own, whole) is called for each event.
  nest(add) {
    const rows = [], stack = [], own = new Float64Array(this.count);
    const busyBegin = new Growing(Float64Array), busyEnd = new Growing(Float64Array);
    this.busy = this.waiting = this.idle = this.tasks = 0;
    let now = 0;
    // Gives the time from `now` to `until` to the innermost event.
    const pass = (until) => {
      if (until <= now) return;
      const top = stack.length === 0 ? -1 : stack[stack.length - 1];
      if (top >= 0) {
        const from = Math.max(now, this.begin[top]), to = Math.min(until, this.end[top]);
        if (to > from) {
          own[top] += to - from;
          const code = this.code[top];
          if (code === WAIT) this.waiting += to - from;
          else if (code === IDLE) this.idle += to - from;
          else {
            this.busy += to - from;
            const last = busyEnd.length - 1;
            if (last >= 0 && busyEnd.array[last] >= from - 1) busyEnd.array[last] = to;
            else { busyBegin.push(from); busyEnd.push(to); }
          }
        }
      }
      now = until;
    };
    const popUntil = (time) => {
      while (stack.length > 0 && this.end[stack[stack.length - 1]] <= time) {
        pass(this.end[stack[stack.length - 1]]);
        stack.pop();
      }
    };
    for (let i = 0; i < this.count; ++i) {
      popUntil(this.begin[i]);
      pass(this.begin[i]);
      const depth = Math.min(stack.length, 255);
      this.depth[i] = depth;
      if (rows.length <= depth) rows.push(new Growing(Uint32Array));
      rows[depth].push(i);
      stack.push(i);
      if (this.code[i] >= TASK) ++this.tasks;
    }
    popUntil(Infinity);
    for (let i = 0; i < this.count; ++i) add(this.code[i], own[i], this.end[i] - this.begin[i]);
    this.own = own;
    this.busyBegin = busyBegin.done();
    this.busyEnd = busyEnd.done();
    this.rows = rows.map((row) => new Row(this, row.done()));
  }
}

// The events of one depth, for drawing: with sums, so that a column of pixels takes one look-up
// however many events it has.
class Row {
  constructor(lane, indices) {
    const n = indices.length;
    this.index = indices;
    this.begin = new Float64Array(n);
    this.end = new Float64Array(n);
    this.tasks = new Float64Array(n + 1);  // the time in the tasks before the i-th event
    for (let i = 0; i < n; ++i) {
      const e = indices[i];
      this.begin[i] = lane.begin[e];
      this.end[i] = lane.end[e];
      this.tasks[i + 1] = this.tasks[i] + (lane.code[e] >= TASK ? lane.end[e] - lane.begin[e] : 0);
    }
  }
}

class Trace {
  constructor(about, text) {
    const numbers = new Numbers(text);
    this.title = about.title;
    this.figures = about.figures;
    this.functions = about.functions.map((f, i) =>
      ({...f, id: i, count: 0, own: 0, whole: 0, longest: 0, rank: 0}));
    this.calls = {id: -1, name: 'parallel calls', count: 0, own: 0, whole: 0, longest: 0};
    this.lanes = about.threads.map((name) => new Lane(name, numbers));
    const n = numbers.next();
    this.steals = {count: n, pushed: new Float64Array(n), taken: new Float64Array(n),
                   from: new Uint16Array(n), to: new Uint16Array(n)};
    let time = 0;
    for (let i = 0; i < n; ++i) {
      time += numbers.next();
      this.steals.taken[i] = time;
      this.steals.pushed[i] = time - numbers.next();
      this.steals.from[i] = numbers.next();
      this.steals.to[i] = numbers.next();
    }
    this.begin = Infinity;
    this.end = 0;
    for (const lane of this.lanes) {
      lane.stolen = 0;
      if (lane.count > 0) this.begin = Math.min(this.begin, lane.begin[0]);
      for (let i = 0; i < lane.count; ++i) if (lane.end[i] > this.end) this.end = lane.end[i];
      lane.nest((code, own, whole) => {
        if (code === WAIT || code === IDLE) return;
        const f = code === CALL ? this.calls : this.functions[code - TASK];
        ++f.count;
        f.own += own;
        f.whole += whole;
        f.longest = Math.max(f.longest, whole);
      });
    }
    for (let i = 0; i < n; ++i) ++this.lanes[this.steals.to[i]].stolen;
    if (this.begin > this.end) this.begin = this.end = 0;
    this.span = Math.max(this.end - this.begin, 1);
    this.byTime = this.functions.filter((f) => f.count > 0).sort((a, b) => b.own - a.own);
    this.byTime.forEach((f, rank) => { f.rank = rank; });
  }

  // How many threads are busy, on average, in each of `count` equal parts of [from, to).
  parallelism(count, from = this.begin, to = this.end) {
    const bins = new Float32Array(count), width = (to - from) / count;
    for (const lane of this.lanes) {
      let i = upperBound(lane.busyEnd, from);
      for (; i < lane.busyBegin.length && lane.busyBegin[i] < to; ++i) {
        const begin = Math.max(lane.busyBegin[i], from), end = Math.min(lane.busyEnd[i], to);
        let bin = Math.floor((begin - from) / width);
        for (let at = begin; at < end && bin < count; ++bin) {
          const next = Math.min(end, from + (bin + 1) * width);
          bins[bin] += Math.max(0, next - at);
          at = next;
        }
      }
    }
    for (let i = 0; i < count; ++i) bins[i] /= width;
    return bins;
  }
}

// "1.234 ms". `digits` significant digits.
function timeText(ns, digits = 4) {
  const abs = Math.abs(ns);
  const [unit, scale] = abs >= 1e9 ? ['s', 1e9] : abs >= 1e6 ? ['ms', 1e6] : abs >= 1e3 ? ['µs', 1e3]
    : ['ns', 1];
  const value = ns / scale;
  return (scale === 1 ? String(Math.round(value)) : String(Number(value.toPrecision(digits)))) +
    ' ' + unit;
}

function countText(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f'); }
