// Every head of every layer as a small picture; pressing one opens it large.
playground.overview = (element, props, watch, pick) => {
  const { el, fill, state, on, heat } = playground;
  const root = element.querySelector('.overview');
  const replace = playground.roving(root, '.thumb');

  function draw() {
    const shown = playground.read(props);
    if (!shown) { root.replaceChildren(); return; }
    const table = heat.colours(props);
    const w = props.words[state.lang];
    const cells = heat.bytes(shown.cells);
    const size = shown.side ** 2;
    const off = new Set(shown.off.map(String));
    root.style.setProperty('--heads', shown.heads);
    root.setAttribute('aria-label', w.all);
    const pictures = [];
    for (let layer = 0; layer < shown.layers; layer += 1) {
      pictures.push(el('span', { class: 'layer', text: fill(w.row, { layer }) }));
      for (let head = 0; head < shown.heads; head += 1) {
        const at = (layer * shown.heads + head) * size;
        const name = fill(w.one, { layer, head });
        pictures.push(el('button', { type: 'button', class: `thumb${off.has(String([layer, head])) ? ' off' : ''}`, 'data-at': `${layer}.${head}`,
          'aria-pressed': layer === shown.layer && head === shown.head, 'aria-label': name, title: name, onclick: () => pick({ layer, head }) },
        heat.picture(cells.subarray(at, at + size), shown.side, shown.masked, table)));
      }
    }
    const note = shown.side < shown.tokens ? [el('p', { class: 'note', text: fill(w.coarse, { side: shown.side, tokens: shown.tokens }) })] : [];
    replace(el('div', { class: 'pictures' }, ...pictures), ...note);
  }

  on('language', draw);
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  watch('value', draw);
  draw();
};
