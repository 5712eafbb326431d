// The next-token bars at the selected position, and the rank of a token that the visitor types.
playground.bars = (element, props, watch, ask) => {
  const { el, fill, number, state, on } = playground;
  const root = element.querySelector('.bars');
  const title = el('h2');
  const rows = el('div', { class: 'rows', role: 'table' });
  const foot = el('p', { class: 'note' });
  const input = el('input', { type: 'text', class: 'pg-input', maxlength: 200, autocomplete: 'off' });
  const answer = el('p', { class: 'note answer', 'aria-live': 'polite' });
  const box = el('label', { class: 'ask' }, el('span'), input);
  root.append(title, rows, foot, box, answer);
  const words = () => props.words[state.lang];
  let timer;

  function row([, label, probability, logit], widest, kind, rank) {
    const fraction = widest > 0 ? probability / widest : 0;
    const name = el('span', { class: 'name', role: 'rowheader', text: label, title: label });
    if (rank) name.append(el('small', { text: ` #${rank}` }));
    return el('div', { class: `bar ${kind}`, role: 'row' }, name,
      el('span', { class: 'track', role: 'presentation' }, el('b', { style: `width:${(fraction * 100).toFixed(2)}%` })),
      el('span', { class: 'p', role: 'cell', text: number(probability), title: String(probability) }),
      el('span', { class: 'logit', role: 'cell', text: logit.toFixed(2), title: String(logit) }));
  }

  function draw() {
    const { view, at } = state;
    const step = view?.steps[at - view.start];
    if (!step) return;
    const w = words();
    title.textContent = fill(w.after, { token: view.labels[at - view.start] });
    const widest = step.top[0][2];
    const next = step.chosen;
    const kind = (id) => (next ? (id === next[0] ? 'chosen' : '') : view.greedy && id === step.top[0][0] ? 'best' : '');
    const head = el('div', { class: 'bar head', role: 'row' }, el('span', { role: 'columnheader', text: w.column_token }),
      el('span', { class: 'track', role: 'presentation' }), el('span', { role: 'columnheader', text: w.column_probability }),
      el('span', { role: 'columnheader', text: w.column_logit }));
    const lines = step.top.map((item) => row(item, widest, kind(item[0])));
    if (next && !step.top.some(([id]) => id === next[0])) lines.push(row(next, widest, 'chosen', next[4]));
    rows.replaceChildren(head, ...lines);
    rows.setAttribute('aria-label', title.textContent);
    const held = step.top.reduce((sum, item) => sum + item[2], 0);
    foot.textContent = fill(next ? w.held_chosen : view.greedy ? w.held_greedy : w.held, { n: view.vocab_size.toLocaleString('en'), k: step.top.length, p: held.toFixed(3) });
    box.firstChild.textContent = w.ask;
    input.placeholder = w.ask_placeholder;
    reask();
  }

  function reask() {
    clearTimeout(timer);
    if (!input.value) { answer.textContent = ''; return; }
    timer = setTimeout(() => ask({ text: input.value, at: state.at }), 200);
  }
  function tell() {
    const found = playground.read(props);
    if (!found || found.at !== state.at || !input.value) return;
    answer.textContent = fill(words().asked, { ...found, p: number(found.probability, 4), logit: found.logit.toFixed(3) });
  }

  input.addEventListener('input', reask);
  on('view', draw);
  on('at', draw);
  on('language', draw);
  watch('value', tell);
  draw();
};
