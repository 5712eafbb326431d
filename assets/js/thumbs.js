// All heads of one layer as small pictures; the chosen one is drawn large beside them.
playground.thumbs = (element, props, watch, pick) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.thumbs');

  // 256 colours between the stops of the large picture's scale, which stand at equal distances.
  function colours(stops) {
    const points = stops.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    return Array.from({ length: 256 }, (_, i) => {
      const place = (i / 255) * (points.length - 1);
      const [a, b] = [points[Math.floor(place)], points[Math.ceil(place)]];
      return a.map((value, k) => Math.round(value + (b[k] - value) * (place % 1)));
    });
  }
  let table;

  // Cells are bytes, 0 to 255 for weights 0 to 1: as fine as a screen's colours. Masked cells stay clear.
  function paint(canvas, cells, tokens, masked) {
    canvas.width = canvas.height = tokens;
    const context = canvas.getContext('2d');
    const image = context.createImageData(tokens, tokens);
    for (let row = 0; row < tokens; row += 1) {
      for (let column = 0; column < (masked ? row + 1 : tokens); column += 1) {
        const cell = row * tokens + column;
        image.data.set([...table[cells[cell]], 255], 4 * cell);
      }
    }
    context.putImageData(image, 0, 0);
  }

  function draw() {
    const shown = playground.read(props);
    if (!shown) return;
    table = colours(document.body.classList.contains('dark') ? props.dark : props.light);
    const w = props.words[state.lang];
    const cells = Uint8Array.from(atob(shown.cells), (character) => character.charCodeAt(0));
    const size = shown.tokens ** 2;
    playground.look({ layer: shown.layer, head: shown.head });
    root.setAttribute('aria-label', fill(w.heads_of_layer, { layer: shown.layer }));
    root.replaceChildren(...Array.from({ length: shown.heads }, (_, head) => {
      const name = fill(w.head, { head });
      const canvas = el('canvas', { 'aria-hidden': 'true' });
      paint(canvas, cells.subarray(head * size, (head + 1) * size), shown.tokens, shown.masked);
      const kind = fill(w[shown.kinds[head][0]], { share: shown.kinds[head][1].toFixed(2) });
      return el('button', { type: 'button', class: `thumb${shown.off.includes(head) ? ' off' : ''}`, 'data-head': head, 'aria-pressed': head === shown.head,
        'aria-label': `${name}: ${kind}`, title: `${name}: ${kind}`, onclick: () => pick({ head }) },
      canvas, el('span', { text: name }), el('small', { text: kind }));
    }));
  }

  on('language', draw);
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  watch('value', draw);
  draw();
};
