// SPDX-License-Identifier: Apache-2.0
// The flame graph: the root on top, below each function what it calls. It is drawn on a canvas, and
// only what is at least half a pixel wide.

const ROW = 20;

class Flame {
  // `host` scrolls, and has the canvas and a spacer as high as the graph. `show(node)` tells of the
  // node that the user points to or has moved to, -1 for none.
  constructor(host, canvas, spacer, show) {
    this.host = host;
    this.canvas = canvas;
    this.spacer = spacer;
    this.show = show;
    this.context = canvas.getContext("2d");
    this.range = [0, 1];
    this.zoomed = 0;
    this.selected = -1;
    this.hovered = -1;
    this.hits = null;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    host.addEventListener("scroll", () => this.draw());
    host.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("mousemove", (event) => this.onMove(event));
    canvas.addEventListener("mouseleave", () => this.hover(-1));
    canvas.addEventListener("click", (event) => this.onClick(event));
    canvas.addEventListener("dblclick", () => this.zoom(0));
    new ResizeObserver(() => this.resize()).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.readColours());
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    this.colours = {
      page: get("--page"),
      text: get("--on-kind"),
      match: get("--match"),
      accent: get("--accent"),
      kinds: [0, 1, 2, 3, 4].map((i) => get("--kind-" + i)),
      less: get("--less"),
      same: get("--same"),
      more: get("--more"),
    };
    this.shades = new Map();
    this.dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.draw();
  }

  setTree(tree) {
    this.tree = tree;
    this.zoomed = 0;
    this.selected = this.hovered = -1;
    this.range = [0, tree.weight[0] || 1];
    this.hits = null;
    this.spacer.style.height = "0";
    this.host.scrollTop = 0;
    this.resize();
  }

  setHits(hits) {
    this.hits = hits;
    this.draw();
  }

  resize() {
    if (!this.tree) return;
    const width = Math.max(50, this.host.clientWidth - 32), height = this.host.clientHeight;
    const scale = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.spacer.style.height =
        Math.max(0, (this.tree.maxDepth + 2) * ROW - height) + "px";
    this.draw();
  }

  // The colour between two others.
  blend(from, to, share) {
    const parse = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
    const a = parse(from), b = parse(to);
    return "rgb(" + a.map((v, i) => Math.round(v + (b[i] - v) * share)).join(" ") + ")";
  }

  colourOf(node) {
    const tree = this.tree, fn = tree.fn[node];
    if (tree.model.isDiff) {
      const now = tree.now[node], old = tree.old[node];
      const share = Math.abs(now - old) / Math.max(now, old, 1);
      return this.blend(this.colours.same, now > old ? this.colours.more : this.colours.less,
                        share === 0 ? 0 : 0.2 + 0.8 * share);
    }
    if (node === 0 || fn < 0) return this.colours.kinds[4];
    let shade = this.shades.get(fn);
    if (!shade) {
      // Neighbours of one kind differ a little.
      const change = ((fn * 2654435761) >>> 24) / 255;
      shade = this.blend(this.colours.kinds[tree.model.fnKind[fn]],
                         this.dark ? "#000000" : "#ffffff", change * (this.dark ? 0.22 : 0.3));
      this.shades.set(fn, shade);
    }
    return shade;
  }

  draw() {
    if (!this.tree || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  paint() {
    const { context, tree, width, height } = this;
    const [low, high] = this.range, scale = width / (high - low), top = this.host.scrollTop;
    context.clearRect(0, 0, width, height);
    context.font = "12px " + getComputedStyle(document.body).fontFamily;
    context.textBaseline = "middle";
    const stack = [0];
    while (stack.length) {
      const node = stack.pop();
      const begin = (tree.begin[node] - low) * scale, wide = tree.weight[node] * scale;
      if (wide < 0.5 || begin + wide < 0 || begin > width) continue;
      const y = tree.depth[node] * ROW - top;
      if (y > height) continue;
      if (y + ROW >= 0) this.paintNode(node, Math.max(0, begin), Math.min(width, begin + wide), y);
      for (let child = tree.first[node]; child >= 0; child = tree.next[child]) stack.push(child);
    }
    if (this.selected >= 0) this.outline(this.selected, this.colours.accent, 2);
    if (this.hovered >= 0 && this.hovered !== this.selected) {
      this.outline(this.hovered, this.colours.accent, 1);
    }
  }

  paintNode(node, left, right, y) {
    const { context, tree } = this;
    const hit = this.hits ? this.hits[node] : 1;
    const above = tree.depth[node] < tree.depth[this.zoomed];
    context.globalAlpha = (hit === 0 ? 0.3 : 1) * (above ? 0.55 : 1);
    context.fillStyle = this.colourOf(node);
    const wide = Math.max(0.5, right - left - (right - left > 3 ? 1 : 0));
    context.fillRect(left, y, wide, ROW - 1);
    if (this.hits && hit === 1) {
      context.fillStyle = this.colours.match;
      context.fillRect(left, y + ROW - 4, wide, 3);
    }
    if (wide > 28) {
      context.fillStyle = this.colours.text;
      const text = this.fit(tree.forms(node), wide - 8);
      if (text) context.fillText(text, left + 4, y + ROW / 2);
    }
    context.globalAlpha = 1;
  }

  // The longest form of a name for which there is room, or the beginning of the shortest.
  fit(forms, room) {
    const { context } = this;
    for (const text of forms) {
      // Estimated first: measuring is slow.
      if (text.length * 4 < room && context.measureText(text).width <= room) return text;
    }
    const text = forms[forms.length - 1];
    let length = Math.min(text.length, Math.floor(room / 4));
    while (length > 2) {
      const shown = text.slice(0, length) + "…";
      const wide = context.measureText(shown).width;
      if (wide <= room) return shown;
      length = Math.min(length - 1, Math.ceil(length * room / wide));
    }
    return "";
  }

  box(node) {
    const [low, high] = this.range, scale = this.width / (high - low);
    const left = Math.max(0, (this.tree.begin[node] - low) * scale);
    const right = Math.min(this.width,
                           (this.tree.begin[node] + this.tree.weight[node] - low) * scale);
    return [left, this.tree.depth[node] * ROW - this.host.scrollTop, right - left];
  }

  outline(node, colour, size) {
    const [x, y, wide] = this.box(node);
    this.context.strokeStyle = colour;
    this.context.lineWidth = size;
    this.context.strokeRect(x + size / 2, y + size / 2, Math.max(1, wide - size), ROW - 1 - size);
  }

  nodeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [low, high] = this.range;
    const x = low + (event.clientX - box.left) / this.width * (high - low);
    const depth = Math.floor((event.clientY - box.top + this.host.scrollTop) / ROW);
    let node = 0;
    while (node >= 0 && this.tree.depth[node] < depth) {
      let child = this.tree.first[node];
      while (child >= 0 && x >= this.tree.begin[child] + this.tree.weight[child]) {
        child = this.tree.next[child];
      }
      node = child >= 0 && x >= this.tree.begin[child] ? child : -1;
    }
    return node;
  }

  hover(node, event) {
    if (node !== this.hovered) {
      this.hovered = node;
      this.draw();
    }
    this.show(node, event);
  }

  onMove(event) {
    if (this.tree) this.hover(this.nodeAt(event), event);
  }

  onClick(event) {
    const node = this.nodeAt(event);
    if (node >= 0) this.zoom(node);
  }

  zoom(node) {
    const { tree } = this;
    this.zoomed = node;
    this.selected = node > 0 ? node : -1;
    const from = [...this.range];
    const to = [tree.begin[node], tree.begin[node] + (tree.weight[node] || 1)];
    const start = performance.now(), time = this.still.matches ? 0 : 180;
    const step = (now) => {
      if (this.tree !== tree || this.zoomed !== node) return;
      const share = time ? Math.min(1, Math.max(0, (now - start) / time)) : 1;
      const eased = 1 - (1 - share) ** 3;
      this.range = [0, 1].map((i) => from[i] + (to[i] - from[i]) * eased);
      this.paint();
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    this.scrollTo(node);
  }

  scrollTo(node) {
    const y = this.tree.depth[node] * ROW;
    if (y < this.host.scrollTop) this.host.scrollTop = Math.max(0, y - ROW);
    if (y + 2 * ROW > this.host.scrollTop + this.height) this.host.scrollTop = y + 3 * ROW - this.height;
  }

  onKey(event) {
    const { tree } = this;
    if (!tree || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.selected >= 0 ? this.selected : 0;
    let to = -1;
    if (event.key === "ArrowDown") to = tree.first[at];
    else if (event.key === "ArrowUp") to = tree.parent[at];
    else if (event.key === "ArrowRight") to = tree.next[at];
    else if (event.key === "ArrowLeft") to = this.before(at);
    else if (event.key === "Home") to = 0;
    else if (event.key === "Enter" || event.key === " ") this.zoom(at);
    else if (event.key === "Escape") this.zoom(0);
    else return;
    event.preventDefault();
    if (to < 0 || (to > 0 && tree.weight[to] === 0)) return;
    this.selected = to;
    const [low, high] = this.range;
    if (tree.begin[to] + tree.weight[to] <= low || tree.begin[to] >= high ||
        tree.weight[to] / (high - low) < 0.004) {
      this.zoom(to);
    }
    this.scrollTo(to);
    this.show(to);
    this.draw();
  }

  before(node) {
    if (node === 0) return -1;
    let child = this.tree.first[this.tree.parent[node]];
    while (child >= 0 && this.tree.next[child] !== node) child = this.tree.next[child];
    return child;
  }
}
