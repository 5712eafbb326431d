// Switches that turn parts of the network off: layer × (attention, feed-forward), single heads, what-ifs.
// The word `mean` turns nothing off: it says that a part's earlier mean stands in for what is off, not zero.
playground.switches = (element, props, watch, flip) => {
  const { el, fill, number, state, on } = playground;
  const root = element.querySelector('.switches');
  const words = () => props.words[state.lang];
  const replace = playground.roving(root, '.grid .sw');
  const open = new Set();
  let off = new Set(), shape = null;
  const KINDS = ['zero', 'mean'];
  const kind = () => KINDS[+off.has('mean')];
  const only = (...words) => new Set(off.has('mean') ? [...words, 'mean'] : words);

  // Named by `text`, or else by the state it is in.
  function button(word, kind, name, text) {
    const isOff = off.has(word);
    return el('button', {
      type: 'button', class: `sw ${kind}${isOff ? ' off' : ''}`, 'data-word': word, 'aria-pressed': isOff, 'aria-label': text ? `${text}: ${name}` : name, title: name, text: text ?? words()[isOff ? 'is_off' : 'is_on'],
      onclick: () => { off.has(word) ? off.delete(word) : off.add(word); send(word); },
    });
  }

  function send(focus) {
    playground.say('asked');
    flips.ask();
    draw(focus);
  }
  const flips = playground.newest((turn) => flip({ off: [...off], turn }), asTheyAre);
  function asTheyAre() {
    off = new Set(state.view?.query.off?.split(',') ?? []);
    draw();
  }

  // Pictures ask for switches too: words to turn over, or the beginning of all those to restore.
  function asked({ toggle = [], drop }) {
    for (const word of toggle) off.has(word) ? off.delete(word) : off.add(word);
    if (drop) off = new Set([...off].filter((word) => !word.startsWith(drop)));
    send();
  }

  function choose(chosen) {
    if (chosen === 'mean') off.add('mean');
    else off.delete('mean');
    send(`kind-${chosen}`);
  }

  function kinds() {
    const w = words(), now = kind();
    const choices = KINDS.map((each) => el('label', { class: each === now ? 'selected' : '' },
      el('input', { type: 'radio', name: 'off-kind', class: `kind-${each}`, checked: each === now, 'aria-describedby': 'off-kind', onchange: () => choose(each) }),
      el('span', { text: w[`kind_${each}`] })));
    return el('fieldset', { class: 'kinds choices' }, el('legend', { text: w.kind }), ...choices,
      el('p', { class: 'note', id: 'off-kind', text: w[`about_${now}`] }));
  }

  function everything() {
    const all = [];
    for (let layer = 0; layer < shape.layers; layer += 1) all.push(`attention.${layer}`, `feed_forward.${layer}`);
    return all;
  }

  function draw(focus) {
    if (!shape) return;
    const w = words(), now = kind();
    const lines = [el('span'), el('span', { class: 'a', text: w.attention }), el('span', { class: 'f', text: w.feed_forward }), el('span')];
    for (let layer = 0; layer < shape.layers; layer += 1) {
      const heads = Array.from({ length: shape.heads }, (_, head) => `head.${layer}.${head}`);
      const some = heads.filter((word) => off.has(word)).length;
      const more = el('button', {
        type: 'button', class: `sw more${some ? ' off' : ''}`, 'data-more': layer, 'aria-expanded': open.has(layer), text: some ? `−${some}` : w.heads,
        'aria-label': fill(w.heads_of, { layer }), title: fill(w.heads_of, { layer }),
        onclick: () => { open.has(layer) ? open.delete(layer) : open.add(layer); draw(`more.${layer}`); },
      });
      lines.push(el('span', { class: 'layer', text: fill(w.layer, { layer }) }),
        button(`attention.${layer}`, 'a', fill(w.turn_attention, { layer })),
        button(`feed_forward.${layer}`, 'f', fill(w.turn_feed_forward, { layer })), more);
      if (open.has(layer)) {
        lines.push(el('div', { class: 'heads', role: 'group', 'aria-label': fill(w.heads_of, { layer }) },
          ...heads.map((word, head) => button(word, 'a', fill(w.turn_head, { layer, head }), String(head)))));
      }
    }
    const grid = el('div', { class: 'grid', role: 'toolbar', 'aria-label': w.title }, ...lines);
    const whatIf = el('div', { class: 'whatifs', role: 'group', 'aria-label': w.what_if },
      el('h3', { text: w.what_if }), ...shape.what_ifs.map((word) => button(word, 'w', w[`off_${word}_long`], w[`off_${word}`])));
    const tools = el('div', { class: 'tools' },
      el('button', { type: 'button', class: 'pg-button zero-all', text: w[`all_${now}`], onclick: () => { off = only(...everything()); send('zero-all'); } }),
      el('button', { type: 'button', class: 'pg-button restore', text: w.restore, disabled: off.size === only().size, onclick: () => { off = only(); send('restore'); } }));
    replace(el('h2', { text: w.title }), effect(), kinds(), grid, tools, ...edges(), whatIf);
    if (focus) root.querySelector(focus.startsWith('more.') ? `[data-more="${focus.slice(5)}"]` : `[data-word="${focus}"], .${CSS.escape(focus)}`)?.focus({ preventScroll: true });
  }

  // Forbidden looks are made in the attention map; here they are counted and restored.
  function edges() {
    const count = [...off].filter((word) => word.startsWith('edge.')).length;
    if (!count) return [];
    const w = words();
    return [el('div', { class: 'tools forbidden' }, el('span', { text: fill(w.edges, { count }) }),
      el('button', { type: 'button', class: 'pg-button', text: w.restore_edges, onclick: () => asked({ drop: 'edge.' }) }))];
  }

  // What the switches did to the prediction at the selected position.
  function effect() {
    const w = words();
    const step = state.view?.steps[state.at - state.view.start];
    const box = el('div', { class: 'effect', 'aria-live': 'polite' });
    if (!step || step.kl === undefined) { box.append(el('span', { class: 'quiet', text: w.nothing_off })); return box; }
    const [before, after] = [step.was[0], step.top[0]];
    box.append(el('span', { text: fill(w.kl, { kl: number(step.kl, 3) }) }), ' · ',
      el('b', { text: before[1] }), ' → ', el('b', { text: after[1] }), el('span', { class: 'quiet', text: ` ${before[0] === after[0] ? w.same_top : w.new_top}` }));
    return box;
  }
  function refresh() {
    root.querySelector('.effect')?.replaceWith(effect());
  }

  function take() {
    shape = playground.read(props);
    off = new Set(shape?.off ?? []);
    draw();
  }
  on('switch', asked);
  on('view', () => { flips.answered(state.view.turn); refresh(); });
  on('at', refresh);
  on('language', () => draw());
  watch('value', take);
  take();
};
