// The network as a drawing: boxes beside the residual line, this run's numbers in them, the code behind each.
// Every count is new · (each + pair · seen), so that all positions are known without a request.
playground.architecture = (element, props, watch) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.architecture');
  const WIDE = 700;
  let shown = null, mode = 'prefill', chosen = null, wide = false;
  const words = () => props.words[state.lang];
  const KIND = { norm_1: 'n', norm_2: 'n', final_norm: 'n', qkv: 'a', scores: 'a', weights: 'a', mixed: 'a', out: 'a', widen: 'f', gelu: 'f', narrow: 'f', middle: 'r', after: 'r', embedding: 'r' };

  const exact = (count) => count.toLocaleString('en-US');
  function short(count, unit) {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(count, 1)) / 3)));
    return `${power ? Number((count / 1000 ** power).toPrecision(3)) : count} ${['', 'k', 'M', 'G', 'T'][power]}${unit}`;
  }

  // What is read: `all` tokens up to the selected one at once, or that one with the others cached.
  const all = () => Math.max(1, Math.min(state.at - shown.start + 1, shown.tokens));
  const read = (how) => (how === 'prefill' ? [all(), 0] : [1, all() - 1]);
  const count = ([each, pair], how) => { const [fresh, past] = read(how); return fresh * (each + pair * (past + fresh)); };
  const times = (part) => (part.repeated ? shown.sizes.L : 1);
  const total = (of) => shown.parts.reduce((sum, part) => sum + of(part) * times(part), 0);
  const flops = (part, how) => count(part.flops, how);
  const bytes = (part, how) => 4 * count(part.values, how);
  function shape(part) {
    const [fresh, past] = read(mode);
    const sizes = { ...shown.sizes, T: fresh, S: past + fresh };
    return `(${part.axes.join(', ')}) = (${part.axes.map((axis) => sizes[axis] ?? axis).join(', ')})`;
  }
  const named = (name) => shown.parts.find((part) => part.name === name);

  function box(name) {
    const w = words(), part = named(name), off = shown.off[name];
    const work = flops(part, mode);
    const share = el('span', { class: 'share', 'aria-hidden': 'true' });
    share.style.width = `${(100 * work * times(part)) / total((each) => flops(each, mode))}%`;
    const numbers = [part.parameters ? `${short(part.parameters, '')} ${w.parameters}` : null, work ? short(work, 'FLOP') : null, short(bytes(part, mode), 'B')];
    return button(name, `box ${KIND[name] ?? 'e'}${off ? ' off' : ''}`, el('b', { text: w[`part_${name}`] }), el('span', { class: 'numbers', text: numbers.filter(Boolean).join(' · ') }),
      el('code', { text: shape(part) }), ...(off ? [el('em', { text: off })] : []), share);
  }
  function button(name, kind, ...inside) {
    return el('button', { type: 'button', class: kind, 'data-part': name, 'aria-pressed': chosen === name, onclick: () => choose(name) }, ...inside);
  }
  const plus = (name) => el('div', { class: 'add' }, el('span', { class: 'plus', 'aria-hidden': 'true', text: '+' }), box(name));
  const sub = (kind, title, names, sum) => el('div', { class: `sub ${kind}${shown.off[sum] ? ' cut' : ''}`, role: 'group', 'aria-label': title },
    el('h3', { text: title }), ...names.map(box), plus(sum));

  function drawing() {
    const w = words(), layers = shown.sizes.L;
    return el('div', { class: 'drawing', role: 'group', 'aria-label': w.drawing },
      el('p', { class: 'end', text: fill(w.ids, { shape: `1, ${read(mode)[0]}` }) }),
      el('div', { class: 'pair' }, box('token_embedding'), box('position_embedding')),
      el('div', { class: 'sub start' }, plus('embedding')),
      el('div', { class: 'block' }, button('block', 'title', el('b', { text: fill(w.block, { layers }) })),
        sub('a', w.attention, ['norm_1', 'qkv', 'scores', 'weights', 'mixed', 'out'], 'middle'),
        sub('f', w.feed_forward, ['norm_2', 'widen', 'gelu', 'narrow'], 'after')),
      el('div', { class: 'tail' }, box('final_norm'), box('logits')),
      el('p', { class: 'end', text: w.softmax }));
  }

  function modes() {
    const w = words();
    const one = (how, text) => el('button', { type: 'button', class: 'pg-button mode', 'data-mode': how, 'aria-pressed': mode === how, text: fill(text, { tokens: all() }), onclick: () => { mode = how; draw(`[data-mode=${how}]`); } });
    return el('div', { class: 'modes', role: 'group', 'aria-label': w.mode }, el('span', { text: w.mode }), one('prefill', w.mode_prefill), one('step', w.mode_step));
  }

  // The chosen box in full: exact numbers, then the lines that compute it. Text nodes only.
  function details() {
    const w = words(), part = named(chosen), layers = shown.sizes.L;
    const panel = el('section', { class: 'details', 'aria-label': w.details }, el('h3', { text: w[`part_${chosen}`] }), el('p', { text: fill(w[`about_${chosen}`], { layers }) }));
    if (part) {
      const both = (of) => `${w.prefill} ${exact(of(part, 'prefill'))} · ${w.step} ${exact(of(part, 'step'))}`;
      const rows = [[w.shape, shape(part)], [w.parameters, exact(part.parameters)], [w.weight_bytes, exact(4 * part.parameters)], [w.flops, both(flops)], [w.written, both(bytes)]];
      panel.append(el('dl', {}, ...rows.flatMap(([term, text]) => [el('dt', { text: term }), el('dd', { text })])));
    }
    for (const each of props.sources[chosen]) panel.append(...code(each));
    return panel;
  }
  const code = (source) => playground.code(source, words().code_at);

  function table(title, head, rows, kind) {
    const cells = (row) => row.map((text, i) => el(i ? 'td' : 'th', i ? { text } : { scope: 'row', text }));
    return el('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': title }, el('table', { class: `pg-table ${kind}` },
      el('thead', {}, el('tr', {}, ...head.map((text) => el('th', { scope: 'col', text })))), el('tbody', {}, ...rows.map((row) => el('tr', {}, ...cells(row))))));
  }
  function thisPass() {
    const w = words(), tokens = all();
    const numbers = (of) => [of((part) => part.parameters), ...['prefill', 'step'].flatMap((how) => [of((part) => flops(part, how))]), ...['prefill', 'step'].map((how) => of((part) => bytes(part, how)))].map(exact);
    const rows = shown.parts.map((part) => [w[`part_${part.name}`] + (part.repeated ? ` × ${shown.sizes.L}` : ''), ...numbers((of) => of(part) * times(part))]);
    const title = fill(w.pass_title, { tokens });
    const head = [w.part, w.parameters, `${w.flops}: ${w.prefill}`, `${w.flops}: ${w.step}`, `${w.written}: ${w.prefill}`, `${w.written}: ${w.step}`];
    const [whole, step] = ['prefill', 'step'].map((how) => total((part) => flops(part, how)));
    const values = { tokens, past: tokens - 1, step: exact(step), prefill: exact(whole), share: `${((100 * step) / whole).toPrecision(3)}%`, cache: exact((tokens - 1) * shown.cache), each: exact(shown.cache) };
    return [el('h3', { text: title }), table(title, head, [...rows, [w.total, ...numbers(total)]], 'pass'), el('p', { class: 'note', text: fill(w.compare, values) })];
  }
  function models() {
    const w = words();
    const facts = ['layers', 'heads', 'width', 'context', 'vocabulary', 'parameters', 'untied', 'bytes', 'cache', 'flops_first', 'flops_last'];
    const names = shown.models.map((model) => (model.running ? fill(w.running, { name: model.name }) : model.name));
    return [el('h3', { text: w.models_title }), table(w.models_title, [w.fact, ...names], facts.map((fact) => [w[`fact_${fact}`], ...shown.models.map((model) => exact(model[fact]))]), 'models')];
  }

  function choose(name) {
    chosen = chosen === name && !wide ? null : name;
    draw(`[data-part=${name}]`);
  }
  function draw(focus) {
    if (!shown) return;
    const held = focus ?? (root.contains(document.activeElement) && document.activeElement.dataset.part ? `[data-part=${document.activeElement.dataset.part}]` : null);
    wide = root.clientWidth >= WIDE;
    if (wide) chosen ??= 'scores';
    const scrolled = [...root.querySelectorAll('.scroll')].map((each) => each.scrollLeft);
    const picture = drawing();
    const body = el('div', { class: `body${wide ? ' wide' : ''}` }, picture);
    if (chosen && wide) body.append(details());
    root.replaceChildren(modes(), el('p', { class: 'note', text: words().one_layer }), body, ...thisPass(), ...models());
    if (chosen && !wide) { // on a narrow page right under the box
      const under = picture.querySelector(`[data-part=${chosen}]`);
      (under.closest('.pair, .add') ?? under).after(details());
    }
    root.querySelectorAll('.scroll').forEach((each, i) => { each.scrollLeft = scrolled[i] ?? 0; });
    if (held) root.querySelector(held)?.focus({ preventScroll: true });
  }

  function take() {
    shown = playground.read(props);
    draw();
  }
  on('at', () => draw());
  on('language', () => draw());
  new ResizeObserver(() => { if ((root.clientWidth >= WIDE) !== wide) draw(); }).observe(root);
  watch('value', take);
  take();
};
