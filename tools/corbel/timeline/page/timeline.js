// SPDX-License-Identifier: Apache-2.0
// The page: summary, tables, details, mouse and keys.
'use strict';

const byId = (id) => document.getElementById(id);
const trace = new Trace(JSON.parse(byId('about').textContent), byId('data').textContent.trim());
const view = new View(trace, byId('lanes'), byId('overview'));

if (trace.lanes.length > 16) for (const lane of trace.lanes) lane.folded = true;

// ---- drawing once a frame

let isPending = false;
function redraw() {
  if (isPending) return;
  isPending = true;
  requestAnimationFrame(() => {
    isPending = false;
    view.draw();
  });
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  view.readColours();
  fillTables();
  redraw();
}
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
prefersDark.addEventListener('change', () => setTheme(prefersDark.matches ? 'dark' : 'light'));
function otherTheme() {
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}

// ---- elements

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function percent(part, whole) { return whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '–'; }

function fillFigures() {
  const f = trace.figures, busy = trace.lanes.reduce((sum, lane) => sum + lane.busy, 0);
  const add = (name, value, title) => byId('figures').append(
    element('div', {title}, element('span', {textContent: name}), element('b', {textContent: value})));
  add('time', timeText(trace.span), 'From the first event to the last');
  add('work', timeText(f.work_ns ?? busy), 'The time in all tasks and parallel calls together');
  if (f.span_ns) {
    add('span', timeText(f.span_ns), 'The critical path: the least time with any number of threads');
    add('parallelism', (f.work_ns / f.span_ns).toFixed(2),
        'Work ÷ span: how many processors the program could keep busy');
  }
  add('threads', `${trace.lanes.length}` + (f.limit >= trace.lanes.length ? ` of at most ${f.limit}` : ''),
      'Those that had a part in parallel calls');
  add('tasks', countText(f.tasks ?? trace.lanes.reduce((n, lane) => n + lane.tasks, 0)),
      'Taken up from a deque, a queue or a mailbox');
  add('stolen', countText(f.stolen ?? trace.steals.count),
      'Run by another thread than the one that pushed them');
  if (f.idle !== undefined) {
    add('idle', percent(f.idle, 1), 'The share of the threads’ time in parallel calls without work');
  }
  if (f.dropped) {
    add('left out', countText(f.dropped) + ' events',
        'Those for which the trace buffers had no room: the threads’ rows end early');
    byId('figures').lastChild.className = 'warning';
  }
}

// ---- tables

let functionsBy = 'own', threadsBy = null;

function fillTable(table, columns, rows, sortedBy, sortBy) {
  table.replaceChildren();
  const head = element('tr');
  for (const column of columns) {
    head.append(element('th', {
      textContent: column.name + (column.key === sortedBy ? ' ▾' : ''), title: column.title || '',
      onclick: () => sortBy(column.key)}));
  }
  const body = element('tbody');
  for (const row of rows) {
    const line = element('tr', {onclick: row.choose, className: row.className || ''});
    for (const column of columns) {
      const cell = element('td');
      cell.append(column.show(row));
      if (column === columns[0]) cell.title = row.title || '';
      line.append(cell);
    }
    body.append(line);
  }
  table.append(element('thead', {}, head), body);
}

function fillFunctions() {
  const all = trace.lanes.reduce((sum, lane) => sum + lane.busy, 0);
  const keys = {own: (f) => f.own, count: (f) => f.count, mean: (f) => f.whole / f.count,
                longest: (f) => f.longest};
  const rows = trace.byTime.concat(trace.calls.count > 0 ? [trace.calls] : []).sort(functionsBy === 'name'
    ? (a, b) => a.name.localeCompare(b.name)
    : (a, b) => keys[functionsBy](b) - keys[functionsBy](a));
  fillTable(byId('functions'), [
    {key: 'name', name: 'Tasks by function', show: ({f}) => {
      const dot = element('i', {className: 'dot'});
      dot.style.background = f.id < 0 ? view.colours.call : view.palette[f.rank % 10];
      const name = element('span');
      name.append(dot, f.name);
      return name;
    }},
    {key: 'own', name: 'own time', title: 'Without the tasks and waits inside',
     show: ({f}) => timeText(f.own, 3)},
    {key: 'share', name: '', show: ({f}) => percent(f.own, all)},
    {key: 'count', name: 'tasks', show: ({f}) => countText(f.count)},
    {key: 'mean', name: 'mean', title: 'With what is inside', show: ({f}) => timeText(f.whole / f.count, 3)},
    {key: 'longest', name: 'longest', show: ({f}) => timeText(f.longest, 3)},
  ], rows.map((f) => f.id < 0 ? {f, title: 'What the program’s threads ran themselves of the loops and forks that they called',
                                className: view.matches === null ? '' : 'dim', choose: () => {}} : ({
    f, title: f.full || f.name,
    className: view.matches === null ? '' : view.matches.has(f.id) ? 'chosen' : 'dim',
    choose: () => find(view.matches && view.matches.size === 1 && view.matches.has(f.id) ? '' : '=' + f.name),
  })), functionsBy, (key) => {
    if (key === 'share') key = 'own';
    functionsBy = key;
    fillFunctions();
  });
}

function fillThreads() {
  const keys = {busy: (l) => l.busy, wait: (l) => l.waiting, tasks: (l) => l.tasks,
                stolen: (l) => l.stolen, name: null};
  const lanes = trace.lanes.slice();
  if (threadsBy && keys[threadsBy]) lanes.sort((a, b) => keys[threadsBy](b) - keys[threadsBy](a));
  fillTable(byId('threads'), [
    {key: 'name', name: 'Threads', show: ({lane}) => lane.name},
    {key: 'bar', name: '', show: ({lane}) => {
      const bar = element('div', {className: 'bar'});
      for (const [part, colour] of [[lane.busy, 'busy'], [lane.waiting, 'wait']]) {
        const piece = element('span');
        piece.style.width = 100 * part / trace.span + '%';
        piece.style.background = `var(--${colour})`;
        bar.append(piece);
      }
      return bar;
    }},
    {key: 'busy', name: 'busy', title: 'In a task or a parallel call',
     show: ({lane}) => percent(lane.busy, trace.span)},
    {key: 'wait', name: 'waiting', title: 'In a wait, without a task',
     show: ({lane}) => percent(lane.waiting, trace.span)},
    {key: 'rest', name: 'else', title: 'Asleep, looking for work, or outside of parallel calls',
     show: ({lane}) => percent(Math.max(0, trace.span - lane.busy - lane.waiting), trace.span)},
    {key: 'tasks', name: 'tasks', show: ({lane}) => countText(lane.tasks)},
    {key: 'stolen', name: 'stolen', title: 'Tasks that another thread had pushed',
     show: ({lane}) => countText(lane.stolen)},
  ], lanes.map((lane) => ({
    lane, choose: () => { view.scrollTo(view.laneTop(lane) + view.scroll - AXIS); redraw(); },
  })), threadsBy, (key) => { threadsBy = key; fillThreads(); });
}

function fillTables() {
  fillFunctions();
  fillThreads();
}

// ---- details of an event

function describe(mark) {
  const {lane, index} = mark, code = lane.code[index];
  const lines = [['thread', lane.name], ['begin', timeText(lane.begin[index] - trace.begin, 7)],
                 ['length', timeText(lane.end[index] - lane.begin[index])]];
  const own = lane.own[index];
  if (own < lane.end[index] - lane.begin[index] - 1) {
    lines.push([code === WAIT ? 'without work' : 'own time', timeText(own)]);
  }
  const steal = view.stealOf(mark);
  if (steal >= 0) {
    const s = trace.steals;
    lines.push(['stolen from', trace.lanes[s.from[steal]].name],
               ['after its push', timeText(s.taken[steal] - s.pushed[steal])]);
  }
  return {title: view.textOf(code), lines, full: code >= TASK ? trace.functions[code - TASK].full : ''};
}

function fillDetails() {
  const box = byId('details');
  box.replaceChildren();
  if (!view.selected) {
    box.append(element('h3', {textContent: 'Nothing selected'}), element('span', {
      textContent: 'Click an event. The wheel zooms, dragging moves, ? shows the keys.'}));
    return;
  }
  const {title, lines, full} = describe(view.selected);
  const list = element('dl');
  for (const [name, value] of lines) {
    list.append(element('dt', {textContent: name}), element('dd', {textContent: value}));
  }
  box.append(element('h3', {textContent: title}), list);
  if (full && full !== title) box.append(element('p', {className: 'full', textContent: full}));
}

function select(mark) {
  view.selected = mark;
  fillDetails();
  redraw();
}

// Brings the event into view if it is not there, or is too small to be seen.
function reveal({lane, index}) {
  const begin = lane.begin[index], end = lane.end[index], width = view.to - view.from;
  const pixels = (end - begin) / width * (view.width - GUTTER);
  if (pixels < 2) {
    const half = Math.max((end - begin) * 20, 50);
    view.show((begin + end) / 2 - half, (begin + end) / 2 + half);
  } else if (begin < view.from || end > view.to) {
    view.show((begin + end - width) / 2, (begin + end + width) / 2);
  }
  const y = view.rowTop(lane, lane.depth[index]);
  if (y < AXIS || y + view.row > view.height) view.scrollTo(y + view.scroll - view.height / 2);
}

// ---- finding

function find(text) {
  byId('search').value = text;
  const isExact = text.startsWith('=');
  const wanted = (isExact ? text.slice(1) : text).trim().toLowerCase();
  if (wanted === '') {
    view.matches = null;
  } else {
    view.matches = new Set(trace.functions.filter((f) => isExact
      ? f.name.toLowerCase() === wanted
      : (f.name + ' ' + (f.full || '')).toLowerCase().includes(wanted)).map((f) => f.id));
  }
  const found = view.matches === null ? -1
    : [...view.matches].reduce((n, id) => n + trace.functions[id].count, 0);
  byId('found').textContent = found < 0 ? '' : countText(found) + (found === 1 ? ' task' : ' tasks');
  fillFunctions();
  redraw();
}

// Selects the next or previous event that matches, in the order of time.
function step(direction) {
  const from = view.selected ? view.selected.lane.begin[view.selected.index] : view.from;
  let best = null;
  for (const lane of trace.lanes) {
    let i = upperBound(lane.begin, from) - 1;
    if (direction > 0) {
      for (i += 1; i < lane.count && !(lane.code[i] >= TASK && view.isMatch(lane.code[i])); ++i);
    } else {
      for (; i >= 0 && !(lane.code[i] >= TASK && view.isMatch(lane.code[i]) && lane.begin[i] < from); --i);
    }
    if (i < 0 || i >= lane.count) continue;
    if (!best || (lane.begin[i] - best.lane.begin[best.index]) * direction < 0) best = {lane, index: i};
  }
  if (!best) return;
  reveal(best);
  select(best);
}

// ---- the mouse

let drag = null;
const canvas = byId('lanes');

function showTip(mark, x, y) {
  const tip = byId('tip');
  tip.hidden = !mark;
  if (!mark) return;
  const {title, lines} = describe(mark);
  tip.replaceChildren(element('b', {textContent: title}), element('small', {
    textContent: lines.filter(([name]) => name !== 'begin').map(([name, value]) =>
      name === 'length' || name === 'thread' ? value : `${name} ${value}`).join(' · ')}));
  const box = tip.getBoundingClientRect(), stage = byId('stage').getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, stage.width - box.width - 8)) + 'px';
  tip.style.top = (y + 18 + box.height > stage.height ? Math.max(0, y - box.height - 10) : y + 18) + 'px';
}

canvas.addEventListener('pointerdown', (event) => {
  if (event.button !== 0) return;
  canvas.setPointerCapture(event.pointerId);
  drag = {x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, scroll: view.scroll,
          measures: event.shiftKey && event.offsetX > GUTTER, moved: false};
  showTip(null);
});
canvas.addEventListener('pointermove', (event) => {
  const x = event.offsetX, y = event.offsetY;
  if (!drag) {
    const mark = view.eventAt(x, y);
    canvas.style.cursor = x < GUTTER && y > AXIS ? 'pointer' : mark ? 'pointer' : 'grab';
    showTip(mark, x, y);
    if (!view.hovered !== !mark || (mark && (view.hovered.lane !== mark.lane ||
                                             view.hovered.index !== mark.index))) {
      view.hovered = mark;
      redraw();
    }
    return;
  }
  if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 3) drag.moved = true;
  if (!drag.moved) return;
  if (drag.measures) {
    view.measured = [view.time(drag.x), view.time(Math.max(x, GUTTER))];
  } else {
    const ns = (drag.x - x) * (drag.to - drag.from) / (view.width - GUTTER);
    view.show(drag.from + ns, drag.to + ns);
    view.scrollTo(drag.scroll + drag.y - y);
    canvas.style.cursor = 'grabbing';
  }
  redraw();
});
canvas.addEventListener('pointerup', (event) => {
  const was = drag;
  drag = null;
  if (!was || was.moved) return;
  view.measured = null;
  const at = view.laneAt(event.offsetY);
  if (event.offsetX < GUTTER && at) {
    at.lane.folded = !at.lane.folded;
    view.scrollTo(view.scroll);
    redraw();
  } else {
    select(view.eventAt(event.offsetX, event.offsetY));
  }
});
canvas.addEventListener('pointerleave', () => { showTip(null); view.hovered = null; redraw(); });
canvas.addEventListener('dblclick', (event) => {
  const mark = view.eventAt(event.offsetX, event.offsetY);
  if (mark) zoomTo(mark);
});
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 16 : 1;
  const pixel = (view.to - view.from) / (view.width - GUTTER);
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    view.pan((event.deltaX || event.deltaY) * lines * pixel);
  } else {
    view.zoom(Math.exp(event.deltaY * lines * 0.002), view.time(Math.max(event.offsetX, GUTTER)));
  }
  pointer = event.offsetX;
  showTip(null);
  redraw();
}, {passive: false});
let pointer = null;
canvas.addEventListener('pointermove', (event) => { pointer = event.offsetX; });

function zoomTo({lane, index}) {
  const begin = lane.begin[index], end = lane.end[index], margin = Math.max((end - begin) * 0.1, 20);
  view.show(begin - margin, end + margin);
  redraw();
}

let brush = null;
const overview = byId('overview');
overview.addEventListener('pointerdown', (event) => {
  overview.setPointerCapture(event.pointerId);
  const time = view.overviewTime(event.offsetX), width = view.to - view.from;
  const isInside = time > view.from && time < view.to && width < 0.98 * trace.span;
  brush = {time, offset: isInside ? time - view.from : null};
});
overview.addEventListener('pointermove', (event) => {
  if (!brush) return;
  const time = view.overviewTime(event.offsetX), width = view.to - view.from;
  if (brush.offset !== null) view.show(time - brush.offset, time - brush.offset + width);
  else if (Math.abs(time - brush.time) > 0) view.show(Math.min(time, brush.time), Math.max(time, brush.time));
  redraw();
});
overview.addEventListener('pointerup', () => { brush = null; });
overview.addEventListener('dblclick', () => { view.fit(); redraw(); });

// ---- keys and buttons

function toggleArrows() {
  view.showArrows = !view.showArrows;
  byId('arrows').setAttribute('aria-pressed', view.showArrows);
  redraw();
}

const middle = () => view.time(pointer !== null && pointer > GUTTER ? pointer : (view.width + GUTTER) / 2);
const keys = {
  w: () => view.zoom(0.7, middle()), s: () => view.zoom(1 / 0.7, middle()),
  '+': () => view.zoom(0.7, middle()), '=': () => view.zoom(0.7, middle()),
  '-': () => view.zoom(1 / 0.7, middle()),
  a: () => view.pan(-(view.to - view.from) * 0.15), d: () => view.pan((view.to - view.from) * 0.15),
  ArrowLeft: () => view.pan(-(view.to - view.from) * 0.15),
  ArrowRight: () => view.pan((view.to - view.from) * 0.15),
  ArrowUp: () => view.scrollTo(view.scroll - 3 * view.row), ArrowDown: () => view.scrollTo(view.scroll + 3 * view.row),
  PageUp: () => view.scrollTo(view.scroll - view.height + AXIS),
  PageDown: () => view.scrollTo(view.scroll + view.height - AXIS),
  Home: () => view.pan(trace.begin - view.from), End: () => view.pan(trace.end - view.to),
  0: () => view.fit(),
  f: () => { if (view.selected) zoomTo(view.selected); },
  Enter: () => { if (view.measured) view.show(Math.min(...view.measured), Math.max(...view.measured)); },
  Escape: () => { view.measured = null; if (view.matches) find(''); else select(null); },
  n: () => step(1), p: () => step(-1), x: toggleArrows, t: otherTheme,
  '/': () => byId('search').focus(), '?': () => byId('keys').showModal(),
};
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
  if (event.target === byId('search')) {
    if (event.key === 'Enter') { event.preventDefault(); step(event.shiftKey ? -1 : 1); }
    if (event.key === 'Escape') { find(''); canvas.focus(); }
    return;
  }
  if (event.key === 'Enter' && event.target.tagName === 'BUTTON') return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
  redraw();
});
byId('search').addEventListener('input', (event) => find(event.target.value));
byId('fit').addEventListener('click', () => { view.fit(); redraw(); });
byId('arrows').addEventListener('click', toggleArrows);
byId('theme').addEventListener('click', otherTheme);
byId('help').addEventListener('click', () => byId('keys').showModal());
new ResizeObserver(() => { view.resize(); view.scrollTo(view.scroll); redraw(); }).observe(byId('stage'));

// #dark, #light: the theme; #from-to in ns: the part to show.
const hash = location.hash.slice(1).split(',');
fillFigures();
setTheme(hash.includes('dark') ? 'dark' : hash.includes('light') ? 'light'
  : prefersDark.matches ? 'dark' : 'light');
fillDetails();
for (const part of hash) {
  const range = part.match(/^(\d+)-(\d+)$/);
  if (range) view.show(trace.begin + Number(range[1]), trace.begin + Number(range[2]));
  if (part.startsWith('find=')) { find(decodeURIComponent(part.slice(5))); step(1); }
}
document.documentElement.dataset.ready = 'yes';
