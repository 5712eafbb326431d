// The run that this one is compared with: its text, if it is another one, and what it would write next here.
playground.beside = (element, props, watch) => {
  const { el, fill, number, state, on } = playground;
  const root = element.querySelector('.beside-run');
  let told = null;

  function strip() {
    const same = told.labels.length === state.view.labels.length && told.labels.every((label, i) => label === state.view.labels[i]);
    const w = props.words[state.lang];
    if (same) return el('p', { class: 'note', text: w.same_text });
    return el('div', { class: 'strip' }, ...told.labels.map((label, i) => {
      const at = told.start + i;
      return el('button', { type: 'button', class: `tok${at === state.at ? ' here' : ''}${at >= told.n_prompt ? ' made' : ''}`, text: label, 'aria-current': at === state.at ? 'true' : null, onclick: () => playground.select(at) });
    }));
  }

  function bars(step, w) {
    const widest = step.top[0][2];
    const next = step.chosen?.[0];
    return el('div', { class: 'rows', role: 'table', 'aria-label': fill(w.title, { name: told.name[state.lang] }) }, ...step.top.map(([id, label, probability, logit]) => el('div', { class: `bar${id === next ? ' chosen' : ''}`, role: 'row' },
      el('span', { class: 'name', role: 'rowheader', text: label, title: label }),
      el('span', { class: 'track', role: 'presentation' }, el('b', { class: 'plain', style: `width:${((100 * probability) / widest).toFixed(2)}%` })),
      el('span', { class: 'p', role: 'cell', text: number(probability), title: String(probability) }),
      el('span', { class: 'logit', role: 'cell', text: logit.toFixed(2), title: String(logit) }))));
  }

  function draw() {
    root.hidden = !told;
    if (!told) root.replaceChildren();
    if (!told || !state.view) return;
    const w = props.words[state.lang];
    const step = told.steps[state.at - told.start];
    const kl = told.kl?.[state.at - told.start];
    root.replaceChildren(el('h2', { text: fill(w.title, { name: told.name[state.lang] }) }), strip(),
      step ? bars(step, w) : el('p', { class: 'note', text: fill(state.at < told.start ? w.unseen : w.ended, { first: told.start, last: told.start + told.labels.length - 1 }) }),
      el('p', { class: 'note', text: step && kl !== undefined && kl !== null ? fill(w.kl, { kl: number(kl, 4) }) : told.rewritten ? w.rewritten : '' }));
  }

  function take() {
    told = playground.read(props);
    if (told && !told.name) told = null;
    playground.look({ beside: told?.kind ?? null, beside_prompt: told?.prompt || null });
    draw();
  }

  for (const name of ['at', 'view', 'language']) on(name, draw);
  watch('value', take);
  take();
};
