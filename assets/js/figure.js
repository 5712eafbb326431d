// A plotly figure that follows the selected position and the theme, updated in place by Plotly.react.
// What it may follow is described in playground/figures/follow.py.
playground.figure = (element, props, watch, redraw) => {
  const { el, state, on } = playground;
  const root = element.querySelector('.plot');
  const note = element.querySelector('.note');
  const band = { at: [], hover: [] };
  let missed = false, figure = null, notes = null, start = 0, follow = null, height = null, asked = null, awaited = false, drawing = Promise.resolve();

  const TYPES = { f4: Float32Array, f8: Float64Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array };
  // Plotly decodes typed arrays in traces by itself; those in `meta` are ours to decode, as rows.
  function rows(values) {
    if (Array.isArray(values)) return values;
    const flat = new TYPES[values.dtype](playground.heat.bytes(values.bdata).buffer);
    if (!values.shape) return flat;
    const width = +values.shape.split(',').at(-1);
    return Array.from({ length: flat.length / width }, (_, i) => flat.subarray(i * width, (i + 1) * width));
  }

  // What is blank above the diagonal came without those cells.
  function square({ triangle, shape }) {
    const cells = rows({ dtype: 'f4', bdata: triangle });
    const side = +shape.split(',')[0];
    const whole = new Float32Array(side * side).fill(NaN);
    for (let row = 0, from = 0; row < side; row += 1, from += row) whole.set(cells.subarray(from, from + row + 1), row * side);
    const bytes = Array.from(new Uint8Array(whole.buffer), (byte) => String.fromCharCode(byte));
    return { dtype: 'f4', shape, bdata: btoa(bytes.join('')) };
  }

  const index = () => state.at - start; // the other one of two runs side by side may begin elsewhere

  function put(target, path, value) {
    const names = path.split('.');
    const end = names.pop();
    names.reduce((inner, name) => (inner[name] ??= {}), target)[end] = value;
  }

  function followPosition() {
    for (const item of follow?.pick ?? []) {
      const position = Math.min(index(), item.values.length - 1);
      if (position < 0) continue;
      if (item.trace === undefined) put(figure.layout, item.target, item.values[position]);
      else put(figure.data[item.trace], item.attr, item.values[position]);
    }
    note.textContent = notes[Math.min(index(), notes.length - 1)] ?? '';
  }

  // A figure too heavy to hold every position is drawn anew at the selected one, once the steps pause; each position is
  // asked for once. Hidden tabs do not ask: they are drawn when they open.
  let waiting;
  function askForPosition() {
    clearTimeout(waiting);
    if (!follow?.redraw || follow.position === index() || asked === index()) return;
    waiting = setTimeout(() => { if (root.offsetParent) { asked = index(); wait(true); redraw({ at: state.at }); } }, 120);
  }
  // What still grows is asked for again as soon as it has come, while it is in sight.
  function askForMore() {
    if (follow?.more && root.offsetParent) redraw({ at: state.at });
  }
  // What is shown meanwhile is of another position, and looks so.
  function wait(long) {
    awaited = long;
    element.classList.toggle('stale', long);
  }

  // Nothing has come yet: the tab was just opened.
  function empty() {
    const w = props.words[state.lang];
    if (!figure) note.textContent = w.waiting;
  }

  // On a dark page every colour is exchanged for its partner before the figure is read.
  function read() {
    ({ figure, notes, start } = JSON.parse(props.value));
    const dark = document.body.classList.contains('dark') && figure.layout.meta?.dark;
    if (dark) ({ figure, notes } = JSON.parse(props.value.replace(/#[0-9a-f]{6}/g, (colour) => dark[colour] ?? colour)));
    for (const trace of figure.data) if (trace.z?.triangle) trace.z = square(trace.z);
    follow = figure.layout.meta?.follow ?? null;
    height = null;
    for (const item of follow?.pick ?? []) item.values = rows(item.values);
    delete figure.layout.meta;
    if (document.documentElement.hasAttribute('data-projector')) enlarge(figure);
  }

  // For a projector everything that is measured in pixels grows: type, lines, marks, margins, the height.
  const LARGE = 1.4;
  const larger = () => (document.documentElement.hasAttribute('data-projector') ? LARGE : 1);
  const PIXELS = { size: true, height: true, thickness: true, standoff: true, title_standoff: true, xpad: true, ypad: true, ticklen: true, xshift: true, yshift: true,
    width: ['line'], l: ['margin', 'pad'], r: ['margin', 'pad'], t: ['margin', 'pad'], b: ['margin', 'pad'] };
  function enlarge(part, inside = '') {
    for (const [name, value] of Object.entries(part)) {
      if (typeof value === 'number') {
        if (PIXELS[name] === true || PIXELS[name]?.includes(inside)) part[name] = value * LARGE;
      } else if (value && typeof value === 'object' && !value.bdata && name !== 'values') enlarge(value, name);
    }
  }

  function ink() {
    const style = getComputedStyle(document.body);
    const colour = (name) => style.getPropertyValue(name).trim();
    const layout = figure.layout;
    Object.assign(layout, { paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', uirevision: figure.data.length ? 'keep' : 'empty', autosize: true, width: undefined,
      font: { ...layout.font, color: colour('--pg-ink'), family: getComputedStyle(element).fontFamily },
      hoverlabel: { ...layout.hoverlabel, bgcolor: colour('--pg-card'), bordercolor: colour('--pg-line'), font: { color: colour('--pg-ink'), size: 13 * larger() } } });
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) Object.assign(layout[name], { gridcolor: colour('--pg-line'), zerolinecolor: colour('--pg-line'), linecolor: colour('--pg-line') });
    }
  }

  // A tall figure shrinks to the window as long as its rows stay readable; token axes show as many names as fit.
  const ROW = 12.5, AROUND = 170; // pixels, of the usual size
  function fit() {
    const { layout } = figure;
    const tokens = follow?.tokens ?? 0;
    height ??= layout.height ?? 420;
    const room = window.innerHeight - (element.getBoundingClientRect().top + window.scrollY) - 50;
    layout.height = follow?.axes?.includes('y') ? Math.min(height, Math.max(room, (AROUND + ROW * tokens) * larger())) : height;
    root.style.height = `${layout.height}px`;
    write(tokens);
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key) && follow?.axes?.includes(key[0]))) {
      const axis = layout[name];
      if (!axis.tickvals || axis.showticklabels === false) continue;
      axis.all ??= { tickvals: axis.tickvals, ticktext: axis.ticktext };
      const length = (name[0] === 'x' ? root.clientWidth : layout.height) - AROUND * larger();
      const keep = Math.max(1, Math.ceil((axis.all.tickvals.length * ROW * larger()) / Math.max(length, 60)));
      for (const part of ['tickvals', 'ticktext']) axis[part] = axis.all[part].filter((_, i) => i % keep === 0);
    }
  }

  // What stands in the cells is drawn only where a cell is wide enough for it.
  let template = null;
  function write(tokens) {
    const written = follow?.written;
    if (!written) return;
    const cells = figure.data[written.trace];
    template = cells.texttemplate || template;
    cells.texttemplate = (root.clientWidth - AROUND * larger()) / tokens < written.width * larger() ? '' : template;
  }

  // Where a page has a <base>, plotly writes the page's address into every reference to a gradient or a clip. Ours
  // changes with each step, and the colour bar would go blank.
  function locally(plot) {
    const base = document.querySelector('base[href]');
    if (!base) return plot();
    const href = base.getAttribute('href');
    base.removeAttribute('href');
    try { return plot(); } finally { base.setAttribute('href', href); }
  }

  async function react() {
    if (!figure) return;
    if (!element.isConnected) { missed = true; return; }
    element.classList.toggle('empty', !figure.data.length);
    if (!figure.data.length) { followPosition(); return; }
    while (!window.Plotly) await new Promise((done) => setTimeout(done, 30));
    followPosition();
    ink();
    fit();
    await locally(() => Plotly.react(root, figure.data, figure.layout, { responsive: true, displayModeBar: false }));
    root.setAttribute('aria-label', root.querySelector('.gtitle')?.textContent ?? '');
    askForPosition();
    if (!root.bound) bind();
    place();
    element.dataset.drawn = (+element.dataset.drawn || 0) + 1;
  }
  // One at a time: a second react while the first still runs would mix their layouts.
  const draw = () => { drawing = drawing.then(react).catch((error) => console.error(error)); };

  function bind() {
    root.bound = true;
    element.append(playground.save(root, playground.called(element)));
    const token = (event) => (follow?.hover?.length ? Math.round(event.points[0][follow.hover[0]]) + start : NaN);
    root.on('plotly_hover', (event) => { const i = token(event); if (Number.isFinite(i)) playground.hover(i); });
    root.on('plotly_unhover', () => playground.hover(-1));
    root.on('plotly_click', (event) => {
      const i = token(event);
      if (Number.isFinite(i)) playground.select(i);
      const word = switched(event.points[0]);
      if (word) playground.say('switch', { toggle: [word] });
    });
    root.on('plotly_afterplot', place);
  }

  // The switch that a cell stands for, if it does.
  function switched(point) {
    const [x, y] = [Math.round(point.x), Math.round(point.y)];
    const told = follow?.switch;
    return typeof told === 'string' ? playground.fill(told, { x, y }) : told?.[y]?.[x];
  }

  // The selected and the hovered token, drawn over the figure as frames: no request, no redraw.
  function place() {
    const layout = root._fullLayout;
    if (!layout || !follow?.axes?.length) return;
    frame('at', index(), layout);
    frame('hover', state.hover < 0 ? -1 : state.hover - start, layout);
  }
  function frame(kind, i, layout) {
    for (const old of band[kind]) old.remove();
    band[kind] = [];
    if (i < 0) return;
    for (const axis of Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name) && follow.axes.includes(name[0]))) {
      const line = layout[axis];
      if (!line._length || i < Math.min(...line.range) - 0.01 || i > Math.max(...line.range) + 0.01) continue;
      // Over every picture that shares the axis.
      const sharing = Object.values(layout._plots ?? {}).filter((plot) => [plot.xaxis?._name, plot.yaxis?._name].includes(axis));
      if (!sharing.length) continue;
      const others = sharing.map((plot) => (axis[0] === 'x' ? plot.yaxis : plot.xaxis));
      const from = Math.min(...others.map((other) => other._offset));
      const across = Math.max(...others.map((other) => other._offset + other._length)) - from;
      const [a, b] = [line.l2p(i - 0.5), line.l2p(i + 0.5)].sort((p, q) => p - q);
      const box = axis[0] === 'x'
        ? { left: line._offset + a, width: b - a, top: from, height: across }
        : { top: line._offset + a, height: b - a, left: from, width: across };
      const drawn = el('div', { class: `band ${kind}`, 'aria-hidden': 'true' });
      for (const [name, value] of Object.entries(box)) drawn.style[name] = `${value}px`;
      root.append(drawn);
      band[kind].push(drawn);
    }
  }

  function take() {
    if (!props.value) { empty(); return; }
    if (!awaited) asked = null; // a new figure, not the answer: it may be asked for any position
    wait(false);
    read();
    draw();
    askForMore();
  }
  on('at', () => { if (!figure) return; if (follow?.pick?.length) draw(); else { followPosition(); place(); askForPosition(); } });
  on('hover', place);
  on('language', empty);
  on('size', take);
  const unasked = () => { asked = null; }; // it may be asked for again
  on('refused', () => { unasked(); wait(awaited && follow?.position !== index()); });
  on('trouble', (now) => { if (!now && figure) { unasked(); askForPosition(); } });
  new MutationObserver(take).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  // Its place changes with the window, and when a tab is opened again after the window changed behind it; a lesson's
  // picture that was laid aside may have missed another theme or size.
  let resized, width = 0;
  new ResizeObserver(() => {
    if (!root.clientWidth || (Math.abs(root.clientWidth - width) < 1 && !missed)) return;
    width = root.clientWidth;
    missed = false;
    clearTimeout(resized);
    resized = setTimeout(draw, 100);
  }).observe(root);
  watch('value', take);
  take();
};
