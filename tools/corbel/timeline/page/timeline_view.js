// SPDX-License-Identifier: Apache-2.0
// Draws the lanes and the overview. Where many events share a pixel, the pixel shows how much of its
// time is in tasks, from the sums of the row: the work depends on the pixels, not on the events.
'use strict';

const GUTTER = 172, AXIS = 24, STRIP = 5, PAD = 5, FOLDED = 20;
const MIN_ROW = 18, MAX_ROW = 26;
const MAX_ARROWS = 1500;

class View {
  constructor(trace, canvas, overview) {
    this.trace = trace;
    this.canvas = canvas;
    this.overview = overview;
    this.from = trace.begin;
    this.to = trace.end;
    this.scroll = 0;
    this.showArrows = true;
    this.matches = null;    // a set of functions, or all
    this.selected = null;   // {lane, index}
    this.hovered = null;
    this.measured = null;   // [from, to]
    this.colours = {};
    this.row = MIN_ROW;
    this.resize();
    this.fit();
  }

  // ---- places

  fit() {
    const margin = this.trace.span * 0.01;
    this.show(this.trace.begin - margin, this.trace.end + margin);
  }
  show(from, to) {
    const all = this.trace.span, least = 20, most = all * 1.1 + 100;
    let width = Math.min(Math.max(to - from, least), most);
    const middle = (from + to) / 2;
    from = middle - width / 2;
    const slack = width * 0.5;
    from = Math.min(Math.max(from, this.trace.begin - slack), this.trace.end + slack - width);
    this.from = from;
    this.to = from + width;
  }
  zoom(factor, time) {
    const from = time - (time - this.from) * factor;
    this.show(from, from + (this.to - this.from) * factor);
  }
  pan(ns) { this.show(this.from + ns, this.to + ns); }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.overview]) {
      const box = canvas.getBoundingClientRect();
      canvas.width = Math.max(1, Math.round(box.width * ratio));
      canvas.height = Math.max(1, Math.round(box.height * ratio));
      canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.width = this.canvas.width / ratio;
    this.height = this.canvas.height / ratio;
    this.bins = null;
  }
  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['ink', 'soft', 'paper', 'card', 'grid', 'line', 'accent', 'wait', 'idle', 'call',
                        'busy', 'view', 'on', 'bad', 'f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7',
                        'f8', 'f9']) {
      this.colours[name] = style.getPropertyValue('--' + name).trim();
    }
    this.palette = [...Array(10).keys()].map((i) => this.colours['f' + i]);
  }

  x(time) { return GUTTER + (time - this.from) / (this.to - this.from) * (this.width - GUTTER); }
  time(x) { return this.from + (x - GUTTER) / (this.width - GUTTER) * (this.to - this.from); }
  laneHeight(lane) {
    return PAD + STRIP + (lane.folded ? FOLDED - STRIP : Math.max(1, lane.rows.length) * this.row + 1) + PAD;
  }
  contentHeight() { return this.trace.lanes.reduce((sum, lane) => sum + this.laneHeight(lane), 0); }
  laneTop(wanted) {
    let y = AXIS - this.scroll;
    for (const lane of this.trace.lanes) {
      if (lane === wanted) break;
      y += this.laneHeight(lane);
    }
    return y;
  }
  rowTop(lane, depth) { return this.laneTop(lane) + PAD + STRIP + 1 + (lane.folded ? 0 : depth * this.row); }
  scrollTo(y) {
    this.scroll = Math.max(0, Math.min(y, this.contentHeight() + AXIS - this.height));
  }

  colourOf(code) {
    if (code >= TASK) return this.palette[this.trace.functions[code - TASK].rank % 10];
    return this.colours[code === CALL ? 'call' : code === WAIT ? 'wait' : 'idle'];
  }
  textOf(code) {
    return code >= TASK ? this.trace.functions[code - TASK].name
      : code === CALL ? 'parallel call' : code === WAIT ? 'wait' : 'idle';
  }
  isMatch(code) { return this.matches === null || (code >= TASK && this.matches.has(code - TASK)); }

  // Rows are as high as there is room for, within limits.
  fitRows() {
    const open = this.trace.lanes.filter((lane) => !lane.folded);
    const rows = open.reduce((sum, lane) => sum + Math.max(1, lane.rows.length), 0);
    this.row = 0;
    const room = this.height - AXIS - this.contentHeight();
    this.row = Math.max(MIN_ROW, Math.min(MAX_ROW, Math.floor(room / Math.max(rows, 1))));
  }

  // ---- drawing

  draw() {
    this.fitRows();
    const g = this.canvas.getContext('2d');
    g.clearRect(0, 0, this.width, this.height);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    this.drawGrid(g);
    g.save();
    g.beginPath();
    g.rect(0, AXIS, this.width, this.height - AXIS);
    g.clip();
    let y = AXIS - this.scroll;
    for (const lane of this.trace.lanes) {
      const height = this.laneHeight(lane);
      if (y + height > AXIS && y < this.height) this.drawLane(g, lane, y, height);
      y += height;
    }
    if (this.showArrows) this.drawArrows(g);
    this.drawMarks(g);
    g.restore();
    this.drawScrollbar(g);
    this.drawOverview();
  }

  drawGrid(g) {
    const c = this.colours, step = niceStep((this.to - this.from) * 110 / (this.width - GUTTER));
    g.fillStyle = c.card;
    g.fillRect(0, 0, this.width, AXIS);
    g.fillStyle = c.soft;
    g.textAlign = 'left';
    g.fillText(timeText(this.to - this.from, 3) + ' in view', 12, AXIS / 2);
    g.textAlign = 'center';
    const origin = this.trace.begin;
    for (let t = Math.ceil((this.from - origin) / step) * step; t + origin <= this.to; t += step) {
      const x = Math.round(this.x(t + origin)) + 0.5;
      if (x < GUTTER) continue;
      g.strokeStyle = c.grid;
      g.beginPath();
      g.moveTo(x, AXIS - 5);
      g.lineTo(x, this.height);
      g.stroke();
      if (x > GUTTER + 24 && x < this.width - 24) g.fillText(tickText(t, step), x, AXIS / 2 - 1);
    }
    g.strokeStyle = c.line;
    g.beginPath();
    g.moveTo(0, AXIS - 0.5);
    g.lineTo(this.width, AXIS - 0.5);
    g.stroke();
  }

  drawLane(g, lane, y, height) {
    const c = this.colours, right = this.width - GUTTER;
    g.fillStyle = c.grid;
    g.fillRect(0, y + height - 1, this.width, 1);
    // The name, and how busy the thread is.
    g.textAlign = 'left';
    g.fillStyle = c.ink;
    g.font = '600 12px system-ui, sans-serif';
    g.fillText((lane.folded ? '▸ ' : '▾ ') + lane.name, 12, y + 14);
    g.font = '11px system-ui, sans-serif';
    const busy = lane.busy / this.trace.span;
    g.fillStyle = c.soft;
    g.textAlign = 'right';
    g.fillText(`${Math.round(100 * busy)} % busy`, GUTTER - 12, y + 14);
    g.save();
    g.beginPath();
    g.rect(GUTTER, y, right, height);
    g.clip();
    g.fillStyle = c.idle;
    g.fillRect(GUTTER, y + PAD, right, STRIP);
    this.drawBusy(g, lane, y + PAD);
    if (lane.folded) {
      const row = lane.rows[lane.rows.length > 2 ? 2 : lane.rows.length - 1];
      if (row) this.drawRow(g, lane, row, y + PAD + STRIP + 1, FOLDED - STRIP - 1);
    } else {
      lane.rows.forEach((row, depth) => {
        const top = y + PAD + STRIP + 1 + depth * this.row;
        if (top > -this.row && top < this.height) this.drawRow(g, lane, row, top, this.row - 1);
      });
    }
    g.restore();
  }

  drawBusy(g, lane, y) {
    const scale = (this.width - GUTTER) / (this.to - this.from);
    const begin = lane.busyBegin, end = lane.busyEnd;
    g.fillStyle = this.colours.busy;
    let i = upperBound(end, this.from);
    while (i < begin.length && begin[i] < this.to) {
      const x = GUTTER + Math.max(0, (begin[i] - this.from) * scale);
      let right = GUTTER + (end[i] - this.from) * scale;
      if (right - x >= 1) {
        g.fillRect(x, y, right - x, STRIP);
        ++i;
        continue;
      }
      // All that begins in this pixel.
      const next = upperBound(begin, this.from + (Math.floor(x - GUTTER) + 1) / scale, i);
      g.fillRect(Math.floor(x), y, 1, STRIP);
      i = Math.max(next, i + 1);
    }
  }

  drawRow(g, lane, row, y, height) {
    const scale = (this.width - GUTTER) / (this.to - this.from), c = this.colours;
    const {begin, end, index} = row;
    let i = upperBound(end, this.from);
    while (i < index.length && begin[i] < this.to) {
      const left = GUTTER + (begin[i] - this.from) * scale;
      const width = (end[i] - begin[i]) * scale;
      const code = lane.code[index[i]];
      if (width >= 1.5) {
        const x = Math.max(left, GUTTER - 2);
        const shown = Math.min(left + width, this.width + 2) - x;
        g.globalAlpha = this.isMatch(code) ? 1 : 0.22;
        g.fillStyle = this.colourOf(code);
        g.fillRect(x, y, Math.max(shown - (width > 4 ? 1 : 0), 1), height);
        if (shown > 34 && height > 10) this.drawText(g, code, x, y, shown, height);
        ++i;
        continue;
      }
      // The events that begin in this pixel or two, as one column.
      const column = Math.floor(left - GUTTER);
      const until = this.from + (column + 1) / scale;
      const next = Math.max(i + 1, upperBound(begin, until, i));
      const covered = end[next - 1] - begin[i], inTasks = row.tasks[next] - row.tasks[i];
      const mostly = inTasks > 0 ? this.mostIn(lane, index, i, next) : code;
      const dense = Math.min(1, Math.max(0.35, covered * scale));
      g.globalAlpha = (this.isMatch(mostly) ? 1 : 0.22) * dense;
      g.fillStyle = this.colourOf(mostly);
      g.fillRect(GUTTER + column, y, 1, height);
      i = next;
    }
    g.globalAlpha = 1;
    void c;
  }
  // A task among index[i] to index[end], one that matches if there is one among the first.
  mostIn(lane, index, i, end) {
    let found = -1;
    for (let k = i; k < end && k < i + 24; ++k) {
      const code = lane.code[index[k]];
      if (code < TASK) continue;
      if (this.matches === null || this.isMatch(code)) return code;
      found = code;
    }
    return found >= 0 ? found : lane.code[index[i]];
  }
  drawText(g, code, x, y, width, height) {
    g.fillStyle = code >= TASK ? this.colours.on : this.colours.soft;
    g.textAlign = 'left';
    const from = Math.max(x, GUTTER) + 5, room = x + width - from - 4;
    let text = this.textOf(code);
    const whole = g.measureText(text).width;
    if (whole > room) {
      const fits = Math.floor(text.length * room / whole) - 1;
      if (fits < 3) return;
      text = text.slice(0, fits) + '…';
    }
    g.fillText(text, from, y + height / 2 + 0.5);
  }

  // Where the event begins that the task of a steal is, and where it was pushed.
  endOfSteal(i) {
    const s = this.trace.steals, lane = this.trace.lanes[s.to[i]];
    let k = upperBound(lane.begin, s.taken[i] + 1) - 1;
    while (k > 0 && lane.code[k] < TASK) --k;
    return {lane, depth: k >= 0 ? lane.depth[k] : 0, index: k};
  }
  depthAt(lane, time) {
    for (let depth = lane.rows.length - 1; depth > 0; --depth) {
      const row = lane.rows[depth], i = upperBound(row.begin, time) - 1;
      if (i >= 0 && row.end[i] >= time) return depth;
    }
    return 0;
  }
  drawArrows(g) {
    const s = this.trace.steals, c = this.colours;
    const first = upperBound(s.taken, this.from);
    const last = upperBound(s.taken, this.to + (this.to - this.from) * 0.2);
    if (last - first > MAX_ARROWS) return;  // the strip of marks says enough
    g.save();
    g.beginPath();
    g.rect(GUTTER, AXIS, this.width - GUTTER, this.height);
    g.clip();
    const many = last - first > 200;
    for (let i = first; i < last; ++i) {
      const end = this.endOfSteal(i), from = this.trace.lanes[s.from[i]];
      const isChosen = this.selected && this.selected.lane === end.lane &&
        this.selected.index === end.index;
      const x1 = this.x(s.pushed[i]), x2 = this.x(s.taken[i]);
      if (Math.max(x1, x2) < GUTTER || Math.min(x1, x2) > this.width) continue;
      const y1 = this.rowTop(from, this.depthAt(from, s.pushed[i])) + this.row / 2;
      const y2 = this.rowTop(end.lane, end.depth) + this.row / 2;
      const bend = Math.max(14, Math.min(70, Math.abs(x2 - x1) / 2));
      g.globalAlpha = isChosen ? 1 : many ? 0.25 : last - first > 24 ? 0.5 : 0.75;
      g.lineWidth = isChosen ? 2 : 1;
      g.strokeStyle = g.fillStyle = isChosen ? c.bad : c.ink;
      g.beginPath();
      g.moveTo(x1, y1);
      g.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
      g.stroke();
      g.beginPath();
      g.moveTo(x2, y2);
      g.lineTo(x2 - 7, y2 - 3.5);
      g.lineTo(x2 - 7, y2 + 3.5);
      g.fill();
      if (!many || isChosen) {
        g.beginPath();
        g.arc(x1, y1, 2, 0, 7);
        g.fill();
      }
    }
    g.restore();
  }

  // The selection, the event under the pointer, the measured time.
  drawMarks(g) {
    for (const [mark, width] of [[this.hovered, 1], [this.selected, 2]]) {
      if (!mark) continue;
      const {lane, index} = mark;
      const x = this.x(lane.begin[index]), right = this.x(lane.end[index]);
      g.save();
      g.beginPath();
      g.rect(GUTTER, AXIS, this.width, this.height);
      g.clip();
      g.strokeStyle = this.colours.ink;
      g.lineWidth = width;
      g.strokeRect(x, this.rowTop(lane, lane.depth[index]), Math.max(right - x - 1, 1),
                   (lane.folded ? FOLDED - STRIP - 1 : this.row - 1));
      g.restore();
    }
    if (!this.measured) return;
    const [a, b] = this.measured;
    const x1 = Math.max(GUTTER, this.x(Math.min(a, b))), x2 = this.x(Math.max(a, b));
    g.fillStyle = this.colours.view;
    g.fillRect(x1, AXIS, x2 - x1, this.height);
    g.fillStyle = this.colours.accent;
    g.fillRect(x1, AXIS, 1, this.height);
    g.fillRect(x2, AXIS, 1, this.height);
    g.textAlign = 'center';
    g.font = '600 12px system-ui, sans-serif';
    g.fillText(timeText(Math.abs(b - a)), (x1 + x2) / 2, AXIS + 12);
  }

  drawScrollbar(g) {
    const all = this.contentHeight(), room = this.height - AXIS;
    if (all <= room) return;
    g.fillStyle = this.colours.line;
    const length = Math.max(24, room * room / all);
    const y = AXIS + (room - length) * this.scroll / (all - room);
    g.fillRect(this.width - 6, y, 4, length);
  }

  drawOverview() {
    const g = this.overview.getContext('2d'), c = this.colours, trace = this.trace;
    const box = this.overview.getBoundingClientRect(), width = box.width - GUTTER - 12;
    const height = box.height - 10, bottom = box.height - 4;
    this.bins = this.bins || trace.parallelism(Math.max(1, Math.floor(width)));
    const most = Math.max(trace.figures.limit || 0, trace.lanes.length, 1);
    g.clearRect(0, 0, box.width, box.height);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    g.textAlign = 'left';
    g.fillStyle = c.soft;
    g.fillText('busy threads', 12, box.height / 2);
    g.textAlign = 'right';
    g.fillText(String(most), GUTTER - 12, bottom - height + 4);
    g.fillText('0', GUTTER - 12, bottom - 4);
    g.fillStyle = c.idle;
    g.fillRect(GUTTER, bottom - height, width, height);
    g.fillStyle = c.busy;
    for (let i = 0; i < this.bins.length; ++i) {
      const h = Math.min(1, this.bins[i] / most) * height;
      if (h > 0) g.fillRect(GUTTER + i, bottom - h, 1, h);
    }
    const x = (t) => GUTTER + Math.min(1, Math.max(0, (t - trace.begin) / trace.span)) * width;
    const x1 = x(this.from), x2 = Math.max(x1 + 2, x(this.to));
    g.fillStyle = c.paper;
    g.globalAlpha = 0.65;
    g.fillRect(GUTTER, bottom - height, x1 - GUTTER, height);
    g.fillRect(x2, bottom - height, GUTTER + width - x2, height);
    g.globalAlpha = 1;
    g.strokeStyle = c.accent;
    g.lineWidth = 1.5;
    g.strokeRect(x1, bottom - height, x2 - x1, height);
  }
  overviewTime(x) {
    const width = this.overview.getBoundingClientRect().width - GUTTER - 12;
    return this.trace.begin + (x - GUTTER) / width * this.trace.span;
  }

  // ---- what is where

  laneAt(y) {
    let top = AXIS - this.scroll;
    for (const lane of this.trace.lanes) {
      const height = this.laneHeight(lane);
      if (y >= Math.max(top, AXIS) && y < top + height) return {lane, top};
      top += height;
    }
    return null;
  }
  // The event at the place; near it, if that is less than two pixels away.
  eventAt(x, y) {
    const at = x < GUTTER ? null : this.laneAt(y);
    if (!at) return null;
    const {lane, top} = at;
    const inRows = y - top - PAD - STRIP - 1;
    const depth = lane.folded ? Math.min(2, lane.rows.length - 1) : Math.floor(inRows / this.row);
    const row = inRows >= 0 ? lane.rows[depth] : undefined;
    if (!row) return null;
    const near = 2 * (this.to - this.from) / (this.width - GUTTER), time = this.time(x);
    const i = upperBound(row.begin, time) - 1;
    if (i >= 0 && time <= row.end[i]) return {lane, index: row.index[i]};
    if (i >= 0 && time - row.end[i] < near) return {lane, index: row.index[i]};
    if (i + 1 < row.index.length && row.begin[i + 1] - time < near) {
      return {lane, index: row.index[i + 1]};
    }
    return null;
  }
  stealOf(mark) {
    const s = this.trace.steals, lane = this.trace.lanes.indexOf(mark.lane);
    const taken = mark.lane.begin[mark.index];
    if (mark.lane.code[mark.index] < TASK) return -1;
    for (let i = upperBound(s.taken, taken - 2); i < s.count && s.taken[i] <= taken + 1; ++i) {
      if (s.to[i] === lane) return i;
    }
    return -1;
  }
}

function niceStep(ns) {
  const power = 10 ** Math.floor(Math.log10(Math.max(ns, 1)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= ns);
}
function tickText(t, step) {
  const [unit, scale] = step >= 1e8 ? ['s', 1e9] : step >= 1e5 ? ['ms', 1e6] : step >= 100 ? ['µs', 1e3]
    : ['ns', 1];
  const digits = Math.max(0, Math.ceil(Math.log10(scale / step)));
  const text = (t / scale).toFixed(scale > step ? digits : 0).split('.');
  text[0] = countText(text[0]);
  return text.join('.') + ' ' + unit;
}
