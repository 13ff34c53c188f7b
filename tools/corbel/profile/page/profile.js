// SPDX-License-Identifier: Apache-2.0
// The page of a profile: reads the controls, and shows what they ask for.

const model = new Model(JSON.parse(document.getElementById("data").textContent));
const byId = (id) => document.getElementById(id);

const METRIC_TITLES = { inuse: "In use", peak: "At peak", alloc: "Allocated" };
const UNIT_TITLES = { space: "Bytes", objects: "Blocks" };

// The types by metric and unit: inuse_space is { metric: "inuse", unit: "space" }. Other profiles
// have types of other names; each is a metric of its own.
const types = model.types.map((type, index) => {
  const parts = /^(.*)_(space|objects)$/.exec(type.type);
  return { index, ...type, metric: parts ? parts[1] : type.type, kind: parts ? parts[2] : "" };
});
const typeOf = (metric, kind) => types.find((t) => t.metric === metric && t.kind === kind) ||
                                 types.find((t) => t.metric === metric);

const state = {
  tab: "flame",
  metric: types[model.defaultType].metric,
  unit: types[model.defaultType].kind,
  inverted: false,
  group: false,
  folded: true,
  process: -1,
  thread: -1,
  task: -1,
  search: "",
};
// One of them is the model's own.
const hasRuntime = model.fnKind.filter((kind) => kind === RUNTIME).length > 1;
// Where a program has returned nearly all of its memory before it ended, its peak tells more.
const everything = model.now[0].map((_, i) => i);
const [inUse, atPeak] = ["inuse", "peak"].map((metric) => {
  const type = types.find((each) => each.metric === metric && each.kind === "space");
  return type ? model.total(type.index, everything) : 0;
});
if (state.metric === "inuse" && inUse * 20 < atPeak) state.metric = "peak";
// A link may say what to show: #tab=sites&metric=peak&search=parse
for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
  if (key === "inverted" || key === "group" || key === "folded") state[key] = value === "1";
  else if (["tab", "metric", "unit", "search"].includes(key)) state[key] = value;
}
let tree, samples, shown;

function format(value, unit, sign) {
  const mark = value < 0 ? "−" : sign && value > 0 ? "+" : "";
  let size = Math.abs(value);
  if (unit === "bytes") {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = 0;
    for (; size >= 1023.95 && step < 4; ++step) size /= 1024;
    return mark + (step ? size.toFixed(1) : Math.round(size)) + " " + units[step];
  }
  if (unit === "nanoseconds") return mark + (size / 1e9).toFixed(3) + " s";
  return mark + Math.round(size).toLocaleString("en-US");
}
const amount = (value, sign) => format(value, shown.unit, sign);
const percent = (part, all) => (all ? 100 * part / all : 0).toFixed(1) + " %";

// ---- what points to a node --------------------------------------------------------------------

function facts(node) {
  const all = tree.now[0];
  const rows = [];
  if (model.isDiff) {
    rows.push(["before", amount(tree.old[node])], ["after", amount(tree.now[node])],
              ["change", amount(tree.now[node] - tree.old[node], true)]);
  } else {
    rows.push([shown.title, `${amount(tree.now[node])}, ${percent(tree.now[node], all)} of all`]);
    rows.push([state.inverted ? "of whole stacks" : "itself", amount(tree.selfNow[node])]);
    if (shown.blocks >= 0 && shown.unit === "bytes") {
      const blocks = tree.blocks[node];
      rows.push(["blocks", format(blocks, "") +
                           (blocks ? `, of ${amount(tree.now[node] / blocks)} on average` : "")]);
    }
  }
  return rows;
}

function showNode(node, event) {
  const tip = byId("tip");
  if (node < 0) {
    tip.classList.add("hidden");
    byId("status").textContent = "\u00a0";
    return;
  }
  const rows = facts(node), fn = tree.fn[node];
  byId("status").textContent =
      `${tree.label(node)} – ${rows.map((row) => row.join(" ")).join("; ")}`;
  if (!event) {
    tip.classList.add("hidden");
    return;
  }
  const title = document.createElement("b");
  title.textContent = tree.label(node);
  const place = document.createElement("div");
  place.className = "muted";
  if (fn >= 0) place.textContent = [model.file(fn), model.module(fn)].filter(Boolean).join(" · ");
  const table = document.createElement("table");
  for (const row of rows) {
    const line = table.insertRow();
    for (const text of row) line.insertCell().textContent = text;
  }
  tip.replaceChildren(title, place, table);
  tip.classList.remove("hidden");
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
  const below = event.clientY + 20;
  tip.style.top = (below + box.height < innerHeight ? below : event.clientY - box.height - 12) + "px";
}

const flame = new Flame(byId("flame"), byId("canvas"), byId("spacer"), showNode);
const table = new Table(byId("list"));

// ---- search -----------------------------------------------------------------------------------

function pattern() {
  const input = byId("search");
  input.removeAttribute("aria-invalid");
  if (!state.search) return null;
  try {
    return new RegExp(state.search, "i");
  } catch {
    input.setAttribute("aria-invalid", "true");
    return null;
  }
}

function matcher() {
  const expression = pattern();
  if (!expression) return null;
  const known = new Map();
  return (fn) => {
    let result = known.get(fn);
    if (result === undefined) {
      result = fn < 0 ? expression.test(model.tasks[-1 - fn] || "")
                      : expression.test(model.name(fn)) || expression.test(model.file(fn));
      known.set(fn, result);
    }
    return result;
  };
}

function search() {
  const matches = matcher();
  const found = byId("found");
  if (!matches) {
    flame.setHits(null);
    found.textContent = byId("search").hasAttribute("aria-invalid") ? "not a regular expression" : "";
    return matches;
  }
  const result = tree.search(matches);
  flame.setHits(result.hit);
  found.textContent = model.isDiff
      ? `${amount(result.old)} → ${amount(result.now)}`
      : `${amount(result.now)}, ${percent(result.now, tree.now[0])}`;
  return matches;
}

// ---- tables -----------------------------------------------------------------------------------

function valueColumns(all, self) {
  const number = (title, value, more = {}) =>
      ({ title, value, text: (row) => amount(value(row)), number: true, ...more });
  if (model.isDiff) {
    const change = (row) => row.now - row.old;
    return [number("Before", (row) => row.old), number("After", (row) => row.now),
            { title: "Change", value: (row) => Math.abs(change(row)), number: true, first: true,
              text: (row) => amount(change(row), true),
              mark: (row) => (change(row) > 0 ? "grown" : change(row) < 0 ? "shrunk" : "") }];
  }
  const columns = [];
  if (self) columns.push(number("Self", (row) => row.self, { first: true }));
  columns.push(number(self ? "Total" : shown.title, (row) => row.now, self ? {} : { first: true }));
  columns.push({ title: "Share", value: (row) => (self ? row.self : row.now), number: true,
                 text: (row) => percent(self ? row.self : row.now, all) });
  columns.push({ title: "", value: (row) => (self ? row.self : row.now),
                 share: (row) => (self ? row.self : row.now) / (all || 1) });
  if (shown.blocks >= 0 && shown.unit === "bytes") {
    columns.push({ title: "Blocks", value: (row) => row.blocks, number: true,
                   text: (row) => format(row.blocks, "") });
  }
  return columns;
}

const nameColumn = (title, text, more = {}) =>
    ({ title, value: text, text, name: true, title_of: text, ...more });
const lastPart = (path) => path.slice(path.lastIndexOf("/") + 1);

function findInFlame(text) {
  state.search = "^" + text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
  byId("search").value = state.search;
  state.tab = "flame";
  update();
}

function showTable(matches) {
  const all = tree.now[0];
  if (state.tab === "functions") {
    const rows = functionRows(tree).filter((row) => !matches || matches(row.fn));
    table.show("functions", [
      ...valueColumns(all, true),
      nameColumn("Function", (row) => model.name(row.fn)),
      { ...nameColumn("File", (row) => lastPart(model.file(row.fn) || model.module(row.fn)),
                      { title_of: (row) => model.file(row.fn) || model.module(row.fn) }),
        narrow: true },
    ], rows, (row) => findInFlame(model.name(row.fn)));
    return;
  }
  if (state.tab === "sites") {
    const rows = sampleRows(model, samples, shown.types, (i) => model.sampleSite[i])
        .filter((row) => !matches || (row.key >= 0 && matches(model.frameFn[row.key])));
    const fn = (row) => (row.key < 0 ? "(no stack)" : model.name(model.frameFn[row.key]));
    table.show("sites", [
      ...valueColumns(all, false),
      nameColumn("Line", (row) => (row.key < 0 ? "" : model.place(row.key)),
                 { title_of: (row) => (row.key < 0 ? "" : model.file(model.frameFn[row.key])),
                   narrow: true }),
      nameColumn("Function", fn),
    ], rows, (row) => findInFlame(fn(row)));
    return;
  }
  const names = state.tab === "tasks" ? model.tasks : model.threads;
  const keys = state.tab === "tasks" ? model.sampleTask : model.sampleThread;
  const expression = pattern();
  const text = (row) => names[row.key] || (state.tab === "tasks" ? "(in no task)" : "(unknown)");
  const rows = sampleRows(model, samples, shown.types, (i) => keys[i])
      .filter((row) => !expression || expression.test(text(row)));
  table.show(state.tab, [...valueColumns(all, false),
                         nameColumn(state.tab === "tasks" ? "Task" : "Thread", text)],
             rows, (row) => {
    state[state.tab === "tasks" ? "task" : "thread"] = row.key;
    state.tab = "flame";
    update();
  });
}

// ---- controls ---------------------------------------------------------------------------------

function choice(id, options, value, choose) {
  const host = byId(id);
  const tabs = host.getAttribute("role") === "tablist";
  host.classList.toggle("hidden", options.length < 2);
  host.replaceChildren(...options.map(([key, title]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title;
    if (tabs) button.setAttribute("role", "tab");
    button.setAttribute(tabs ? "aria-selected" : "aria-pressed", String(key === value));
    button.addEventListener("click", () => {
      choose(key);
      update();
      [...host.children].find((each) => each.textContent === title)?.focus();
    });
    return button;
  }));
}

function list(id, names, value, every, none) {
  const host = byId(id);
  host.classList.toggle("hidden", names.length < 2);
  host.replaceChildren(new Option(every, "-1"),
                       ...names.map((name, i) => new Option(name || none, String(i))));
  host.value = String(value);
}

function controls() {
  const metrics = [...new Set(types.map((type) => type.metric))];
  const order = (metric) => ["inuse", "peak", "alloc"].indexOf(metric);
  metrics.sort((a, b) => order(a) - order(b));
  const hasTasks = model.tasks.length > 1;
  choice("tabs", [["flame", "Flame graph"], ["functions", "Functions"], ["sites", "Call sites"],
                  ...(hasTasks ? [["tasks", "Tasks"]] : []),
                  ...(model.threads.length > 1 ? [["threads", "Threads"]] : [])],
         state.tab, (key) => (state.tab = key));
  choice("metrics", metrics.map((metric) => [metric, METRIC_TITLES[metric] || metric]),
         state.metric, (key) => (state.metric = key));
  const units = types.filter((type) => type.metric === state.metric && type.kind)
      .map((type) => type.kind).sort().reverse();
  choice("units", units.map((unit) => [unit, UNIT_TITLES[unit]]), state.unit,
         (key) => (state.unit = key));
  choice("directions", [[false, "Callees"], [true, "Callers"]], state.inverted,
         (key) => (state.inverted = key));
  byId("directions").classList.toggle("hidden", state.tab !== "flame");
  byId("group").checked = state.group;
  byId("folded").checked = state.folded;
  byId("folded-label").classList.toggle("hidden", state.tab !== "flame");
  byId("group-label").classList.toggle("hidden", !hasTasks || state.tab !== "flame");
  list("process", model.processes, state.process, "All processes", "(unknown)");
  list("thread", model.threads, state.thread, "All threads", "(unknown)");
  list("task", model.tasks, state.task, "All tasks", "(in no task)");
  byId("reset").classList.toggle("hidden", !(state.inverted || state.group || state.search ||
      state.process >= 0 || state.thread >= 0 || state.task >= 0));
}

function legend() {
  const entries = model.isDiff
      ? [["--more", "more"], ["--same", "the same"], ["--less", "less"]]
      : ["program", "libraries", "standard library", "parallel runtime", "unknown"]
          .map((name, i) => ["--kind-" + i, name])
          .filter((_, i) => (i === RUNTIME ? hasRuntime : model.fnKind.includes(i)));
  byId("legend").replaceChildren(...entries.map(([colour, name]) => {
    const entry = document.createElement("span");
    const box = document.createElement("i");
    box.style.background = `var(${colour})`;
    entry.append(box, name);
    return entry;
  }));
}

function totals() {
  const entries = [];
  for (const metric of ["inuse", "peak", "alloc"]) {
    const type = types.find((t) => t.metric === metric && t.kind === "space");
    if (!type) continue;
    const now = model.total(type.index, samples), unit = type.unit;
    const old = model.isDiff ? model.total(type.index, samples, true) : 0;
    entries.push([METRIC_TITLES[metric],
                  model.isDiff ? `${format(now, unit)} (${format(now - old, unit, true)})`
                               : format(now, unit)]);
  }
  byId("totals").replaceChildren(...entries.map(([title, value]) => {
    const entry = document.createElement("div");
    const term = document.createElement("dt"), detail = document.createElement("dd");
    term.textContent = title;
    detail.textContent = value;
    entry.append(term, detail);
    return entry;
  }));
}

// ---- everything -------------------------------------------------------------------------------

function update() {
  const type = typeOf(state.metric, state.unit);
  const blocks = types.find((t) => t.metric === state.metric && t.kind === "objects");
  const indices = { shown: type.index, blocks: blocks ? blocks.index : -1 };
  shown = { unit: type.unit, title: METRIC_TITLES[state.metric] || state.metric,
            blocks: indices.blocks, types: indices };
  samples = model.chosen(state);
  tree = new Tree(model, samples, indices,
                  { inverted: state.inverted && state.tab === "flame",
                    group: state.group && state.tab === "flame",
                    folded: state.folded && state.tab === "flame" });
  controls();
  totals();
  byId("flame").classList.toggle("hidden", state.tab !== "flame");
  byId("list").classList.toggle("hidden", state.tab === "flame");
  byId("tip").classList.add("hidden");
  flame.setTree(tree);
  const matches = search();
  if (state.tab !== "flame") showTable(matches);
}

for (const id of ["process", "thread", "task"]) {
  byId(id).addEventListener("change", (event) => {
    state[id] = Number(event.target.value);
    update();
  });
}
for (const id of ["group", "folded"]) {
  byId(id).addEventListener("change", (event) => {
    state[id] = event.target.checked;
    update();
  });
}
let typing = 0;
byId("search").addEventListener("input", (event) => {
  state.search = event.target.value;
  clearTimeout(typing);
  typing = setTimeout(() => {
    controls();
    const matches = search();
    if (state.tab !== "flame") showTable(matches);
  }, 120);
});
byId("reset").addEventListener("click", () => {
  Object.assign(state, { process: -1, thread: -1, task: -1, search: "", group: false,
                         inverted: false });
  byId("search").value = "";
  update();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target.id !== "search") {
    event.preventDefault();
    byId("search").select();
  }
  if (event.key === "Escape" && event.target.id === "search") {
    state.search = byId("search").value = "";
    search();
    byId("flame").focus();
  }
});
byId("facts").textContent = model.facts;
byId("facts").title = model.comments.join("\n");
byId("search").value = state.search;
legend();
update();
