// Which tokens the selected one may look at, in one head: one button each, as a click on the map does.
playground.edges = (element, props, watch) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.edges');
  const replace = playground.roving(root, '.keys .sw');
  let shown = null;

  function draw() {
    const w = props.words[state.lang];
    const query = state.at - (shown?.start ?? 0);
    if (!shown?.labels[query]) { root.replaceChildren(); return; }
    if (shown.mean) { root.replaceChildren(el('p', { class: 'note', text: w.choose_head })); return; }
    const { layer, head, labels, start } = shown;
    const off = new Set(shown.forbidden.map(String));
    const keys = labels.slice(0, shown.causal ? query + 1 : labels.length);
    const buttons = keys.map((label, key) => {
      const isOff = off.has(String([query, key]));
      const name = fill(isOff ? w.allow : w.forbid, { query: labels[query], key: label, at: start + key });
      return el('button', { type: 'button', class: `sw${isOff ? ' off' : ''}`, 'data-key': key, 'aria-pressed': isOff, 'aria-label': name, title: name, text: label,
        onclick: () => playground.say('switch', { toggle: [`edge.${layer}.${head}.${query}.${key}`] }) });
    });
    const tools = el('button', { type: 'button', class: 'pg-button restore', text: w.restore, disabled: shown.count === 0,
      onclick: () => playground.say('switch', { drop: 'edge.' }) });
    replace(el('h3', { text: fill(w.title, { query: labels[query], layer, head }) }),
      el('div', { class: 'keys', role: 'toolbar', 'aria-label': fill(w.title, { query: labels[query], layer, head }) }, ...buttons),
      el('div', { class: 'tools' }, tools, el('span', { class: 'note', text: fill(w.count, { count: shown.count }) })));
  }

  function take() { shown = playground.read(props); draw(); }
  on('language', draw);
  on('at', draw);
  watch('value', take);
  take();
};
