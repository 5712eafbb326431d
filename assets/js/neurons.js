// The strongest neurons of the selected token, as a table. Holds one table for each position, or only that of one:
// then another position is asked for once the steps pause.
playground.neurons = (element, props, watch, redraw) => {
  const { el, fill, number, state, on } = playground;
  const root = element.querySelector('.neurons');
  let shown = null, asked = null, waiting;

  function chip([label, logit]) {
    return el('li', { title: number(logit, 3) }, el('b', { text: label }), ' ', el('small', { text: number(logit, 2) }));
  }

  function row(each, longest) {
    const length = el('span', { class: 'track', 'aria-hidden': 'true' }, el('b'));
    length.firstChild.style.width = `${longest ? (100 * each.written) / longest : 0}%`;
    return el('tr', {}, el('th', { scope: 'row', text: String(each.neuron) }), el('td', { text: number(each.hidden, 3) }), el('td', { text: number(each.active, 3) }),
      el('td', { class: 'length' }, el('span', { text: number(each.written, 3) }), length), el('td', {}, el('ul', {}, ...each.promoted.map(chip))));
  }

  function draw() {
    const w = props.words[state.lang];
    if (!shown) { root.querySelector('h3').textContent = w.waiting; return; }
    const at = state.at - shown.first;
    const rows = shown.rows[at];
    const title = rows ? fill(w.table_title, { token: shown.tokens[at], layer: shown.layer }) : w.waiting;
    root.querySelector('h3').textContent = title;
    if (rows) {
      const head = [w.neuron, w.hidden, w.active, w.column_written, w.column_promoted].map((text) => el('th', { scope: 'col', text }));
      const longest = Math.max(...rows.map((each) => each.written));
      const table = el('table', { class: 'pg-table' }, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...rows.map((each) => row(each, longest))));
      const scroller = root.querySelector('.scroll');
      scroller.setAttribute('aria-label', title);
      scroller.replaceChildren(table);
    }
    root.querySelector('.note').textContent = shown.off ? w[shown.off] : '';
    root.classList.toggle('stale', !rows);
    clearTimeout(waiting);
    if (!rows && asked !== state.at) waiting = setTimeout(() => { if (root.offsetParent) { asked = state.at; redraw({ at: state.at }); } }, 120);
  }

  function take() {
    shown = playground.read(props);
    if (asked !== shown?.first) asked = null;
    draw();
  }
  on('at', draw);
  on('language', draw);
  on('refused', () => { asked = null; });
  on('trouble', (now) => { if (!now && shown) { asked = null; draw(); } });
  watch('value', take);
  take();
};
