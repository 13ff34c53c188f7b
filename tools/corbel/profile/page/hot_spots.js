// SPDX-License-Identifier: Apache-2.0
// The page of hot spots.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const KINDS = {
  "allocation": "allocation",
  "free": "free",
  "realloc": "realloc",
  "realloc copy": "realloc copies",
  "growth": "growth",
  "page fault": "page faults",
  "allocator lock": "allocator lock",
  "lock": "other locks",
  "false sharing": "false sharing",
  "program": "the program",
  "start": "start",
};
const MOST_THREADS = 24;
const colour = (kind) => `var(--${kind.replace(" ", "-")})`;

const state = { kind: "", thread: "", search: "", tab: "" };
// A link may say what to show: #kind=free&search=parse
for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
  if (key in state) state[key] = value;
}

function element(name, options = {}, ...children) {
  const result = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") result.className = value;
    else if (key === "style") result.style.cssText = value;
    else result[key] = value;
  }
  result.append(...children.filter((each) => each !== null && each !== undefined));
  return result;
}

function time(ns) {
  if (ns >= 999500000) return (ns / 1e9).toFixed(2) + " s";
  if (ns >= 99950000) return Math.round(ns / 1e6) + " ms";
  return ns >= 999500 ? (ns / 1e6).toFixed(1) + " ms" : Math.round(ns / 1e3) + " µs";
}
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  for (; value >= 1023.95 && step < 4; ++step) value /= 1024;
  return (step ? value.toFixed(1) : Math.round(value)) + " " + units[step];
}
function count(value) {
  if (value < 1e6) return Math.round(value).toLocaleString("en-US");
  return value < 1e9 ? (value / 1e6).toFixed(1) + " million" : (value / 1e9).toFixed(1) + " billion";
}
const percent = (part, all) => (all ? 100 * part / all : 0).toFixed(1) + " %";
const lastPart = (path) => path.slice(path.lastIndexOf("/") + 1);

function placeText(place) {
  const name = place.function;
  if (place.file) return `${name} ${lastPart(place.file)}:${place.line}`;
  const module = lastPart(place.module || "");
  return module && !name.includes(module) ? `${name} (${module})` : name;
}

// ---- threads ----------------------------------------------------------------------------------

function shownKinds() {
  return Object.keys(KINDS).filter((kind) => kind !== "false sharing" && data.all.kinds?.[kind]);
}

function strip(thread) {
  const bar = element("div", { class: "strip" });
  for (const kind of shownKinds()) {
    const part = thread.kinds?.[kind] || 0;
    if (!part) continue;
    bar.append(element("span", {
      style: `flex: ${part} 0 0; background: ${colour(kind)}`,
      title: `${KINDS[kind]}: ${time(part)}, ${percent(part, thread.total)}`,
    }));
  }
  return bar;
}

// The sum of threads.
function rest(threads) {
  const sum = { total: 0, memory: 0, kinds: {} };
  for (const thread of threads) {
    sum.total += thread.total;
    sum.memory += thread.memory;
    for (const [kind, part] of Object.entries(thread.kinds || {})) {
      sum.kinds[kind] = (sum.kinds[kind] || 0) + part;
    }
  }
  return sum;
}

function showThreads() {
  byId("legend").replaceChildren(...shownKinds().map((kind) => element(
      "span", {}, element("i", { class: "box", style: `background: ${colour(kind)}` }), KINDS[kind])));
  const columns = shownKinds().filter((kind) => kind !== "program" && kind !== "start");
  const head = element("tr", {}, ...["Thread", "Time", "Memory", ""].map((title, i) =>
      element("th", { class: i === 1 || i === 2 ? "number" : "" }, title)),
      ...columns.map((kind) => element("th", { class: "number" }, KINDS[kind])));
  const row = (thread, name, all) => element(
      "tr", { class: all ? "all" : "" },
      element("td", { class: "name", title: name }, name),
      element("td", { class: "number" }, time(thread.total)),
      element("td", { class: "number" }, percent(thread.memory, thread.total)),
      element("td", { class: "part" }, strip(thread)),
      ...columns.map((kind) => element("td", { class: "number" },
                                       percent(thread.kinds?.[kind] || 0, thread.total))));
  const busy = data.threads.filter((thread) => thread.total > 0);
  byId("threads").replaceChildren(
      element("thead", {}, head),
      element("tbody", {},
              ...(busy.length === 1 ? [] : [row(data.all, `all ${busy.length} threads`, true)]),
              ...busy.slice(0, MOST_THREADS).map((thread) => row(thread, thread.name, false)),
              ...(busy.length > MOST_THREADS ? [row(rest(busy.slice(MOST_THREADS)),
                                                    `the ${busy.length - MOST_THREADS} others`, false)] : [])));
}

// ---- hot spots --------------------------------------------------------------------------------

function stackList(stack) {
  return element("ol", { class: "stack" }, ...stack.places.map((place) => element(
      "li", { class: (place.own ? "own" : "") + (place.inlined ? " inlined" : ""),
              title: [place.file, place.module].filter(Boolean).join(" · ") }, placeText(place))));
}

function rows(table) {
  return element("table", {}, element("tbody", {}, ...table.map(([name, ...values]) => element(
      "tr", {}, element("td", {}, name),
      ...values.map((value) => element("td", { class: "number" }, value))))));
}

function counted(spot) {
  const c = spot.counts;
  if (!c) return [];
  const result = [];
  if (c.allocations) {
    result.push(["allocations", count(c.allocations)], ["bytes", bytes(c.bytes)],
                ["freed within 1 µs", percent(c.brief, c.allocations)],
                ["freed by another thread", percent(c.handed_over, c.allocations)]);
  }
  if (c.received) result.push(["blocks of other threads freed here", count(c.received)]);
  if (c.growths) {
    result.push(["reallocs that made a block larger", count(c.growths)],
                ["copied by them", bytes(c.copied)]);
  }
  return result;
}

function details(spot) {
  const parts = [];
  const add = (title, content) => parts.push(element("h3", {}, title), content);
  if (spot.task) parts.push(element("p", {}, `Most of it in ${spot.task}.`));
  if (spot.accesses) {
    add(spot.lines > 1 ? `The first of ${count(spot.lines)} cache lines` : "The cache line",
        element("table", {},
                element("thead", {}, element("tr", {}, ...["Bytes", "Samples", "Writes", "Thread", "Where"]
                    .map((title) => element("th", {}, title)))),
                element("tbody", {}, ...spot.accesses.map((access) => element(
                    "tr", {}, element("td", {}, `${access.first}–${access.last}`),
                    element("td", { class: "number" }, count(access.samples)),
                    element("td", { class: "number" }, count(access.writes)),
                    element("td", {}, access.thread),
                    element("td", { class: "mono" }, placeText(access.place)))))));
  }
  const numbers = counted(spot);
  if (numbers.length) add("Counted here, in all threads", rows(numbers));
  const threads = Object.entries(spot.threads).sort((a, b) => b[1] - a[1]);
  if (threads.length > 1) add("By thread", rows(threads.map(([name, cost]) => [name, time(cost)])));
  spot.stacks.forEach((stack, i) => add(
      spot.accesses ? `Stack of an access, ${time(stack.cost)}`
                    : `${i ? "Another stack" : "Stack"}, ${time(stack.cost)}`, stackList(stack)));
  if (spot.more_stacks) parts.push(element("p", { class: "muted" }, `and ${spot.more_stacks} more stacks`));
  return element("div", { class: "more" }, ...parts);
}

function spotElement(spot, cost, worst) {
  const box = element("details", { class: "spot" });
  const other = spot.accesses?.find((access) => placeText(access.place) !== spot.text);
  const where = spot.text + (other ? ` and ${placeText(other.place)}` : "");
  box.append(element(
      "summary", {}, element("span", { class: "cost" }, time(cost)),
      element("span", { class: "share" }, percent(cost, data.all.total)),
      element("span", { class: "where" },
              element("span", { class: "kind", style: `background: ${colour(spot.kind)}` }, spot.kind),
              element("span", { class: "mono", title: where }, where)),
      element("span", { class: "meter" },
              element("span", { style: `width: ${100 * cost / worst}%; background: ${colour(spot.kind)}` })),
      element("span", { class: "advice" }, spot.advice)));
  // Stacks are long; few of them are looked at.
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) box.append(details(spot));
  });
  return box;
}

function showSpots() {
  const cost = (spot) => (state.thread ? spot.threads[state.thread] || 0 : spot.cost);
  const word = state.search.toLowerCase();
  const list = data.spots
      .filter((spot) => (!state.kind || spot.kind === state.kind) && cost(spot) > 0 &&
                        (!word || `${spot.text}\n${spot.advice}\n${spot.task || ""}`.toLowerCase().includes(word)))
      .sort((a, b) => cost(b) - cost(a));
  const sum = list.reduce((all, spot) => all + cost(spot), 0);
  byId("found").textContent = list.length ? `${list.length} places, ${time(sum)}` : "";
  byId("spots").replaceChildren(...list.map((spot) => spotElement(spot, cost(spot), cost(list[0]))));
  if (!list.length) {
    byId("spots").append(element("p", { class: "empty" }, data.spots.length
        ? "No hot spot matches." : "No time went into memory management in any sample."));
  }
  const kinds = Object.keys(KINDS).filter((kind) => data.spots.some((spot) => spot.kind === kind));
  choice("kinds", [["", "All"], ...kinds.map((kind) => [kind, KINDS[kind]])], "kind", showSpots);
}

// ---- sites ------------------------------------------------------------------------------------

const NAME = ["Where", (s) => s.text + (s.container ? ` (a ${s.container} grows)` : ""), true];
const TABLES = {
  "Allocations": [(s) => s.allocations, ["Allocations", (s) => count(s.allocations)],
                  ["Bytes", (s) => bytes(s.bytes)],
                  ["Average", (s) => bytes(s.bytes / s.allocations)],
                  ["A second", (s) => (data.duration ? count(s.allocations * 1e9 / data.duration) : "")]],
  "Brief lives": [(s) => s.brief, ["Freed within 1 µs", (s) => count(s.brief)],
                  ["Of all", (s) => percent(s.brief, s.allocations)],
                  ["Average", (s) => bytes(s.bytes / s.allocations)]],
  "Hand-overs": [(s) => s.handed_over + s.received, ["Freed by another thread", (s) => count(s.handed_over)],
                 ["Of all", (s) => (s.allocations ? percent(s.handed_over, s.allocations) : "")],
                 ["Of others, freed here", (s) => count(s.received)]],
  "Reallocs": [(s) => s.growths, ["Larger", (s) => count(s.growths)], ["Copied", (s) => bytes(s.copied)]],
  "False sharing": [null],
};

function sharingRows() {
  return data.spots.filter((spot) => spot.accesses).flatMap((spot) => spot.accesses.map((access, i) => [
    i ? "" : count(spot.lines), `${access.first}–${access.last}`, count(access.samples),
    count(access.writes), access.block ? bytes(access.block) : "–", access.thread, placeText(access.place)]));
}

function showSites() {
  const rowsOf = (tab) => (TABLES[tab][0] ? data.sites.filter((site) => TABLES[tab][0](site) > 0)
                                          : data.spots.filter((spot) => spot.accesses));
  const tabs = Object.keys(TABLES).filter((tab) => rowsOf(tab).length);
  byId("sites-part").classList.toggle("hidden", tabs.length === 0);
  if (!tabs.length) return;
  if (!tabs.includes(state.tab)) state.tab = tabs[0];
  choice("tabs", tabs.map((tab) => [tab, tab]), "tab", showSites);
  const [value, ...columns] = TABLES[state.tab];
  let head, body;
  if (value) {
    head = [...columns.map(([title]) => [title, false]), [NAME[0], true]];
    body = rowsOf(state.tab).sort((a, b) => value(b) - value(a)).slice(0, 100)
        .map((site) => [...columns, NAME].map(([, text]) => text(site)));
  } else {
    head = ["Lines", "Bytes", "Samples", "Writes", "Block", "Thread", "Where"]
        .map((title, i) => [title, i > 4]);
    body = sharingRows();
  }
  byId("sites").replaceChildren(
      element("thead", {}, element("tr", {}, ...head.map(([title, name]) =>
          element("th", { class: name ? "" : "number" }, title)))),
      element("tbody", {}, ...body.map((row) => element("tr", {}, ...row.map((text, i) =>
          element("td", { class: head[i][1] ? "name" : "number" }, text))))));
}

// ---- everything -------------------------------------------------------------------------------

function choice(id, options, key, show) {
  const host = byId(id), tabs = host.getAttribute("role") === "tablist";
  host.classList.toggle("hidden", options.length < 2);
  host.replaceChildren(...options.map(([value, title]) => {
    const button = element("button", { type: "button" }, title);
    if (tabs) button.setAttribute("role", "tab");
    button.setAttribute(tabs ? "aria-selected" : "aria-pressed", String(value === state[key]));
    button.addEventListener("click", () => {
      state[key] = value;
      show();
      [...host.children].find((each) => each.textContent === title)?.focus();
    });
    return button;
  }));
}

function note(id, text) {
  byId(id).textContent = text ? text[0].toUpperCase() + text.slice(1) + "." : "";
  byId(id).classList.toggle("hidden", !text);
}

byId("facts").textContent = data.facts;
const waits = (data.all.kinds?.["allocator lock"] || 0) + (data.all.kinds?.lock || 0);
byId("totals").replaceChildren(...[
  ["Memory management", percent(data.all.memory, data.all.total)], ["of the time of threads", time(data.all.total)],
  ...(waits ? [["waiting for locks", time(waits)]] : []),
].map(([title, value]) => element("div", {}, element("dt", {}, title), element("dd", {}, value))));
note("doubt", [data.doubt, ...data.gaps].filter(Boolean).join(". "));
note("verdict", data.verdict);
note("note", data.note);
byId("thread").replaceChildren(
    new Option("All threads", ""), ...data.threads.filter((thread) => thread.total > 0)
        .map((thread) => new Option(thread.name, thread.name)));
byId("thread").value = state.thread;
byId("thread").classList.toggle("hidden", data.threads.length < 2);
byId("thread").addEventListener("change", (event) => {
  state.thread = event.target.value;
  showSpots();
});
byId("search").value = state.search;
byId("search").addEventListener("input", (event) => {
  state.search = event.target.value;
  showSpots();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target.id !== "search") {
    event.preventDefault();
    byId("search").select();
  }
});
showThreads();
showSpots();
showSites();
document.body.dataset.ready = "yes";
