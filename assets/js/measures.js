// What each head of the layer is like, in numbers: a table with a bar in every cell.
playground.measures = (element, props, watch, pick) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.measures');
  const names = ['entropy', 'previous', 'first', 'induction'];

  function cell(name, value, most) {
    if (value === null) return el('td', { text: '–' });
    const bar = el('b', { 'aria-hidden': 'true' });
    bar.style.width = `${Math.min(100, (100 * value) / most)}%`;
    return el('td', {}, el('span', { text: value.toFixed(3) }), bar);
  }

  function draw() {
    const shown = playground.read(props);
    if (!shown) { root.replaceChildren(); return; }
    const w = props.words[state.lang];
    const rows = shown.rows.map((row, head) => {
      const name = head === shown.heads ? w.mean : fill(w.head, { head });
      return el('tr', { class: head === shown.head ? 'here' : '' },
        el('th', { scope: 'row' }, el('button', { type: 'button', class: 'pg-button', text: name, 'aria-pressed': head === shown.head, onclick: () => pick({ head: head === shown.heads ? 'mean' : head }) })),
        ...names.map((measure) => cell(measure, row[measure], measure === 'entropy' ? shown.most : 1)));
    });
    const titles = el('tr', {}, el('th', { scope: 'col', text: fill(w.of_layer, { layer: shown.layer }) }), ...names.map((measure) => el('th', { scope: 'col', text: w[measure] })));
    const note = shown.rows[0].induction === null ? `${w.explained} ${w.no_repeat}` : w.explained;
    root.replaceChildren(el('table', {}, el('thead', {}, titles), el('tbody', {}, ...rows)), el('p', { class: 'note', text: note }));
  }

  on('language', draw);
  watch('value', draw);
  draw();
};
