// SPDX-License-Identifier: Apache-2.0
// What is in a profile, and the trees that the views show.

// Kinds of functions: those of the standard library, and those that run the program's tasks.
const STANDARD = 2;
const RUNTIME = 3;

// Replaces what is between brackets that are in no others.
function withoutInner(text, open, close, inner) {
  let result = "", depth = 0;
  for (let i = 0; i < text.length; ++i) {
    const c = text[i];
    if (text.startsWith("operator", i)) {
      const name = /^operator\s*(\(\)|\[\]|[<>=!+\-*/%&|^~,]+)/.exec(text.slice(i));
      if (name) {
        if (depth === 0) result += name[0];
        i += name[0].length - 1;
        continue;
      }
    }
    if (c === open && !text.startsWith("(anonymous namespace)", i)) {
      if (depth++ === 0) result += inner;
    } else if (c === close && depth > 0) {
      --depth;
    } else if (depth === 0) {
      result += c;
    }
  }
  return result;
}

function shorter(name) {
  const plain = withoutInner(name, "<", ">", "<…>");
  // What is before the last space outside of brackets is the type that the function returns.
  const bare = withoutInner(plain, "(", ")", "").replace(/ const$/, "");
  const begin = bare.startsWith("operator") ? 0 : bare.search(/[^ ]+$/);
  const typed = begin > 0 && !bare.includes("operator") && !bare.includes("(anonymous");
  const scoped = (typed ? bare.slice(begin) : bare).replace(/<…>/g, "");
  const parts = scoped.split("::");
  const last = parts[parts.length - 1];
  const lambda = parts.findIndex((part) => part.startsWith("{lambda"));
  const own = lambda > 0 ? parts[lambda - 1] + " λ"
                         : last === "operator()" ? parts.slice(-2).join("::") : last;
  return [...new Set([name, typed ? plain.slice(plain.indexOf(bare.slice(begin, begin + 3))) : plain,
                      scoped, own])];
}

// Two values of each sample are of interest: `now`, and in a difference `old`.
class Model {
  constructor(raw) {
    Object.assign(this, raw);
    this.isDiff = Boolean(raw.old);
    this.count = raw.sampleNode.length;
    this.labels = new Map();
    // Stands for a run of the scheduler's functions.
    this.runtime = this.fnName.length;
    this.fnName.push(this.strings.push("(parallel runtime)") - 1);
    this.fnFile.push(this.strings.push("") - 1);
    this.fnModule.push(this.strings.length - 1);
    this.fnKind.push(RUNTIME);
  }

  name(fn) {
    return this.strings[this.fnName[fn]];
  }

  file(fn) {
    return this.strings[this.fnFile[fn]];
  }

  module(fn) {
    return this.strings[this.fnModule[fn]];
  }

  // The name, and shorter forms of it: without template arguments, without parameters, without
  // scopes.
  forms(fn) {
    let forms = this.labels.get(fn);
    if (!forms) this.labels.set(fn, (forms = shorter(this.name(fn))));
    return forms;
  }

  // "file.cpp:12" of a frame; empty when the line is unknown.
  place(frame) {
    const file = this.file(this.frameFn[frame]);
    return file ? file.slice(file.lastIndexOf("/") + 1) + ":" + this.frameLine[frame] : "";
  }

  // The sample numbers that the filters let through.
  chosen(filter) {
    const result = [];
    for (let i = 0; i < this.count; ++i) {
      if (filter.process >= 0 && this.sampleProcess[i] !== filter.process) continue;
      if (filter.thread >= 0 && this.sampleThread[i] !== filter.thread) continue;
      if (filter.task >= 0 && this.sampleTask[i] !== filter.task) continue;
      result.push(i);
    }
    return result;
  }

  total(type, samples, old) {
    const values = (old ? this.old : this.now)[type];
    let sum = 0;
    for (const i of samples) sum += values[i];
    return sum;
  }
}

// Finds a child by its parent and function: a hash table with open addressing. A tree may have a
// million nodes, for which a Map takes seconds.
class Children {
  constructor() {
    this.slots = new Int32Array(1 << 12);
  }

  // The number of the child, which is added to the arrays of `tree` where it is new.
  get(parent, fn, tree) {
    const mask = this.slots.length - 1;
    let at = this.place(parent, fn) & mask;
    for (let node = this.slots[at]; node !== 0; node = this.slots[at]) {
      if (tree.parent[node] === parent && tree.fn[node] === fn) return node;
      at = (at + 1) & mask;
    }
    const node = tree.fn.length;
    this.slots[at] = node;
    tree.fn.push(fn);
    tree.parent.push(parent);
    if (2 * node > this.slots.length) this.grow(tree);
    return node;
  }

  place(parent, fn) {
    // The multipliers are primes near the golden ratio of 32 bits.
    const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn + 1, 0x85ebca77);
    return mixed ^ (mixed >>> 15);
  }

  grow(tree) {
    this.slots = new Int32Array(4 * this.slots.length);
    const mask = this.slots.length - 1;
    for (let node = 1; node < tree.fn.length; ++node) {
      let at = this.place(tree.parent[node], tree.fn[node]) & mask;
      while (this.slots[at] !== 0) at = (at + 1) & mask;
      this.slots[at] = node;
    }
  }
}

// A tree of functions with arrays for its nodes; node 0 is the root, and each node comes after its
// parent. `fn` is a function, or -1 - task for the nodes that group by task.
class Tree {
  // `types` has the index of the type that is shown, and of the one with the number of blocks (-1
  // for none).
  constructor(model, samples, types, options) {
    this.model = model;
    this.fn = [NaN]; // of the root: none
    this.parent = [-1];
    this.children = new Children();
    const ends = options.inverted ? this.growInverted(samples, options)
                                  : this.grow(samples, options);
    const size = this.fn.length;
    for (const name of ["now", "old", "selfNow", "selfOld", "blocks", "weight"]) {
      this[name] = new Float64Array(size);
    }
    this.fill(samples, types, ends);
    this.arrange();
  }

  add(parent, fn) {
    return this.children.get(parent, fn, this);
  }

  // Returns the node at which each sample ends. The stacks of the profile are a tree already, of
  // lines; this one has a node for a function.
  grow(samples, options) {
    const { nodeParent, nodeFrame, frameFn, fnKind, runtime, sampleNode, sampleTask } = this.model;
    const memos = new Map();
    const ends = new Int32Array(samples.length);
    const chain = [];
    samples.forEach((sample, at) => {
      const group = options.group ? sampleTask[sample] : 0;
      let memo = memos.get(group);
      if (!memo) {
        memo = new Int32Array(nodeParent.length).fill(-1);
        memos.set(group, memo);
      }
      const root = options.group ? this.add(0, -1 - group) : 0;
      const cut = options.group && options.folded && this.model.tasks[group] !== "";
      let node = sampleNode[sample], inBody = false;
      chain.length = 0;
      while (node >= 0 && memo[node] < 0) {
        const kind = fnKind[frameFn[nodeFrame[node]]];
        // In its task, a stack begins at the task's body, whichever thread runs it.
        if (cut && inBody && kind === RUNTIME) node = -1;
        if (node < 0) break;
        inBody = inBody || kind !== RUNTIME;
        chain.push(node);
        node = nodeParent[node];
      }
      let view = node < 0 ? root : memo[node];
      while (chain.length) {
        const next = chain.pop();
        const fn = frameFn[nodeFrame[next]];
        if (!options.folded || fnKind[fn] < STANDARD || !this.isInside(next)) {
          const shown = options.folded && fnKind[fn] === RUNTIME ? runtime : fn;
          if (shown !== runtime || this.fn[view] !== runtime) view = this.add(view, shown);
        }
        memo[next] = view;
      }
      ends[at] = view;
    });
    return ends;
  }

  // Whether a function of the standard library or of the runtime was called by one of the same: what
  // the program calls is the outermost.
  isInside(node) {
    const { nodeParent, nodeFrame, frameFn, fnKind } = this.model;
    const kind = (at) => fnKind[frameFn[nodeFrame[at]]];
    return (kind(node) === STANDARD || kind(node) === RUNTIME) && nodeParent[node] >= 0 &&
           kind(nodeParent[node]) === kind(node);
  }

  growInverted(samples, options) {
    const { nodeParent, nodeFrame, frameFn, fnKind, runtime, sampleNode, sampleTask } = this.model;
    const ends = new Int32Array(samples.length);
    samples.forEach((sample, at) => {
      let view = options.group ? this.add(0, -1 - sampleTask[sample]) : 0;
      for (let node = sampleNode[sample]; node >= 0; node = nodeParent[node]) {
        const fn = frameFn[nodeFrame[node]];
        if (options.folded && fnKind[fn] >= STANDARD && this.isInside(node)) continue;
        view = this.add(view, options.folded && fnKind[fn] === RUNTIME ? runtime : fn);
      }
      ends[at] = view;
    });
    return ends;
  }

  fill(samples, types, ends) {
    const now = this.model.now[types.shown];
    const old = this.model.isDiff ? this.model.old[types.shown] : null;
    const blocks = types.blocks >= 0 ? this.model.now[types.blocks] : null;
    samples.forEach((sample, at) => {
      const end = ends[at];
      this.selfNow[end] += now[sample];
      if (old) this.selfOld[end] += old[sample];
      if (blocks) this.blocks[end] += blocks[sample];
    });
    for (let i = 0; i < this.fn.length; ++i) {
      this.now[i] = this.selfNow[i];
      this.old[i] = this.selfOld[i];
      // What grew and what shrank both have room, and the parts of a node fit into it.
      this.weight[i] = Math.max(Math.abs(this.selfNow[i]), Math.abs(this.selfOld[i]));
    }
    for (let i = this.fn.length - 1; i > 0; --i) {
      const parent = this.parent[i];
      this.now[parent] += this.now[i];
      this.old[parent] += this.old[i];
      this.blocks[parent] += this.blocks[i];
      this.weight[parent] += this.weight[i];
    }
  }

  // Places nodes beside each other, the widest first: `begin` is the left edge in [0, weight of the
  // root], `first` and `next` lead to children and siblings.
  arrange() {
    const size = this.fn.length;
    this.children = null;
    this.begin = new Float64Array(size);
    this.depth = new Int32Array(size);
    this.first = new Int32Array(size).fill(-1);
    this.next = new Int32Array(size).fill(-1);
    this.maxDepth = 0;
    for (let i = size - 1; i > 0; --i) {
      this.next[i] = this.first[this.parent[i]];
      this.first[this.parent[i]] = i;
    }
    const list = [];
    for (let i = 0; i < size; ++i) {
      if (this.first[i] < 0 || this.next[this.first[i]] < 0) continue;
      list.length = 0;
      for (let child = this.first[i]; child >= 0; child = this.next[child]) list.push(child);
      list.sort((a, b) => this.weight[b] - this.weight[a] || a - b);
      this.first[i] = list[0];
      list.forEach((child, at) => (this.next[child] = at + 1 < list.length ? list[at + 1] : -1));
    }
    for (let i = 0; i < size; ++i) {
      let x = this.begin[i];
      for (let child = this.first[i]; child >= 0; child = this.next[child]) {
        this.begin[child] = x;
        this.depth[child] = this.depth[i] + 1;
        if (this.weight[child] > 0) this.maxDepth = Math.max(this.maxDepth, this.depth[child]);
        x += this.weight[child];
      }
    }
  }

  label(node) {
    if (node === 0) return "all";
    const fn = this.fn[node];
    return fn < 0 ? this.model.tasks[-1 - fn] || "(in no task)" : this.model.name(fn);
  }

  forms(node) {
    const fn = this.fn[node];
    return fn >= 0 ? this.model.forms(fn) : [this.label(node)];
  }

  // Which nodes have a function for which `matches` is true, and the sum of the outermost of them.
  search(matches) {
    const size = this.fn.length;
    const hit = new Uint8Array(size);
    let now = 0, old = 0, count = 0;
    for (let i = 1; i < size; ++i) {
      const own = matches(this.fn[i]);
      const inside = hit[this.parent[i]] !== 0;
      if (own && !inside) {
        now += this.now[i];
        old += this.old[i];
        ++count;
      }
      // 1: matches; 2: is below one that does.
      hit[i] = own ? 1 : inside ? 2 : 0;
    }
    return { hit, now, old, count };
  }
}

// Rows of the table of functions: what each holds itself and with all that it calls. In a recursion,
// the outermost call counts.
function functionRows(tree) {
  const rows = new Map();
  const open = new Map();
  const row = (fn) => {
    let found = rows.get(fn);
    if (!found) rows.set(fn, (found = { fn, self: 0, selfOld: 0, now: 0, old: 0, blocks: 0 }));
    return found;
  };
  // Each node is visited twice: on the way down, and (as ~node) on the way up.
  const stack = [0];
  while (stack.length) {
    let node = stack.pop();
    if (node < 0) {
      node = ~node;
      open.set(tree.fn[node], open.get(tree.fn[node]) - 1);
      continue;
    }
    if (node > 0 && tree.fn[node] >= 0) {
      const fn = tree.fn[node], found = row(fn), depth = open.get(fn) || 0;
      found.self += tree.selfNow[node];
      found.selfOld += tree.selfOld[node];
      if (depth === 0) {
        found.now += tree.now[node];
        found.old += tree.old[node];
        found.blocks += tree.blocks[node];
      }
      open.set(fn, depth + 1);
      stack.push(~node);
    }
    for (let child = tree.first[node]; child >= 0; child = tree.next[child]) stack.push(child);
  }
  return [...rows.values()];
}

// Rows by any property of the samples.
function sampleRows(model, samples, types, keyOf) {
  const rows = new Map();
  const now = model.now[types.shown];
  const old = model.isDiff ? model.old[types.shown] : null;
  const blocks = types.blocks >= 0 ? model.now[types.blocks] : null;
  for (const i of samples) {
    const key = keyOf(i);
    let row = rows.get(key);
    if (!row) rows.set(key, (row = { key, now: 0, old: 0, blocks: 0 }));
    row.now += now[i];
    if (old) row.old += old[i];
    if (blocks) row.blocks += blocks[i];
  }
  return [...rows.values()];
}
