// All heads of one layer and their mean as small pictures; the chosen one is drawn large beside them.
playground.thumbs = (element, props, watch, pick) => {
  const { el, fill, state, on, heat } = playground;
  const root = element.querySelector('.thumbs');
  const replace = playground.roving(root, '.thumb');

  function draw() {
    const shown = playground.read(props);
    if (!shown) return;
    const table = heat.colours(props);
    const w = props.words[state.lang];
    const cells = heat.bytes(shown.cells);
    const size = shown.tokens ** 2;
    if (!element.classList.contains('there')) playground.look({ layer: shown.layer, head: shown.head });
    root.setAttribute('aria-label', fill(w.heads_of_layer, { layer: shown.layer }));
    replace(...Array.from({ length: shown.heads + 1 }, (_, head) => {
      const name = head === shown.heads ? w.mean : fill(w.head, { head });
      const kind = fill(w[shown.kinds[head][0]], { share: shown.kinds[head][1].toFixed(2) });
      return el('button', { type: 'button', class: `thumb${shown.off.includes(head) ? ' off' : ''}`, 'data-head': head, 'aria-pressed': head === shown.head,
        'aria-label': `${name}: ${kind}`, title: `${name}: ${kind}`, onclick: () => pick({ head: head === shown.heads ? 'mean' : head }) },
      heat.picture(cells.subarray(head * size, (head + 1) * size), shown.tokens, shown.masked, table), el('span', { text: name }), el('small', { text: kind }));
    }));
  }

  on('language', draw);
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  watch('value', draw);
  draw();
};
