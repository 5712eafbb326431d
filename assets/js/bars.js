// The next-token bars at the selected position: what the model says, how sampling narrows it down, and another choice
// to go on with. The rank of a token that the visitor types.
playground.bars = (element, props, watch, ask, stages, branch) => {
  const { el, fill, number, state, on } = playground;
  const MOST = 10; // tokens shown for being likely; others tell their rank
  const root = element.querySelector('.bars');
  const title = el('h2');
  const rows = el('div', { class: 'rows', role: 'table' });
  const foot = el('p', { class: 'note' });
  const input = el('input', { type: 'text', class: 'pg-input', maxlength: 200, autocomplete: 'off' });
  const answer = el('p', { class: 'note answer', 'aria-live': 'polite' });
  const box = el('label', { class: 'ask' }, el('span'), input);
  root.append(title, rows, foot, box, answer);
  const words = () => props.words[state.lang];
  const replace = playground.roving(rows, 'button');
  let timer, waiting, known = null, staged = null; // the last stages told, and those of the position on screen
  let guess = '';
  const guesses = playground.newest((turn) => ask({ text: guess, at: state.at, turn }), () => {});
  const stagings = playground.newest((turn) => stages({ at: state.at, turn }), () => {});

  function row(id, label, parts, logit, rank, widest, kind) {
    const w = words();
    const name = el('span', { class: 'name', role: 'rowheader', title: label });
    const go = kind.includes('chosen') ? el('span', { text: label })
      : el('button', { type: 'button', text: label, title: fill(w.branch, { token: label }), 'aria-label': fill(w.branch, { token: label }),
        onclick: () => branch({ text: state.view.text, place: state.at + 1, instead: id }) });
    name.append(go);
    if (rank > MOST) name.append(el('small', { text: ` #${rank}` }));
    const bars = parts.map(([stage, value]) => el('b', { class: stage, style: `width:${((100 * value) / widest || 0).toFixed(2)}%` }));
    const told = parts.length > 1 ? parts.map(([stage, value]) => fill(w[`stage_${stage}`], { p: value })).join('\n') : null;
    const last = parts.at(-1)[1];
    return el('div', { class: `bar ${kind}${last === 0 ? ' cut' : ''}`, role: 'row' }, name,
      el('span', { class: 'track', role: 'presentation', title: told }, ...bars),
      el('span', { class: 'p', role: 'cell', text: number(last), title: String(last) }),
      el('span', { class: 'logit', role: 'cell', text: logit.toFixed(2), title: String(logit) }));
  }

  function draw() {
    const { view, at } = state;
    const step = view?.steps[at - view.start];
    if (!step) return;
    staged = known?.at === at && known.text === view.text ? known.staged : null;
    const w = words();
    title.textContent = fill(w.after, { token: view.labels[at - view.start] });
    const next = step.chosen;
    const best = staged ? staged.drawn[0] : view.greedy ? step.top[0][0] : null;
    const kind = (id) => (next ? (id === next[0] ? 'chosen' : '') : id === best ? 'best' : '');
    const plain = next && !step.top.some(([id]) => id === next[0]) ? [...step.top, next] : step.top;
    const shown = staged
      ? staged.rows.map(([id, label, softmax, top_k, top_p, logit, rank]) => [id, label, [['softmax', softmax], ['top_k', top_k], ['top_p', top_p]], logit, rank])
      : plain.map(([id, label, probability, logit, rank]) => [id, label, [['plain', probability]], logit, rank ?? 0]);
    const widest = Math.max(...shown.flatMap(([, , parts]) => parts.map(([, value]) => value)));
    const head = el('div', { class: 'bar head', role: 'row' }, el('span', { role: 'columnheader', text: w.column_token }),
      el('span', { class: 'track', role: 'presentation' }), el('span', { role: 'columnheader', text: w.column_probability }),
      el('span', { role: 'columnheader', text: w.column_logit }));
    const lines = shown.map((item) => row(...item, widest, kind(item[0])));
    replace(head, ...lines);
    rows.setAttribute('aria-label', title.textContent);
    foot.textContent = staged ? tellStages(w) : tellHeld(w, step, next);
    box.firstChild.textContent = w.ask;
    input.placeholder = w.ask_placeholder;
    reask();
  }

  function tellHeld(w, step, next) {
    const { view } = state;
    const held = step.top.reduce((sum, item) => sum + item[2], 0);
    return fill(next ? w.held_chosen : view.greedy ? w.held_greedy : w.held, { n: view.vocab_size.toLocaleString('en'), k: step.top.length, p: held.toFixed(3) });
  }
  function tellStages(w) {
    const [n, k, p] = staged.left.map((count) => count.toLocaleString('en'));
    return fill(w.held_staged, { t: staged.temperature, n, k, p, drawn: staged.drawn[1] });
  }

  // Stages are asked for where the player rests: when sampling is chosen, and when its controls move.
  function restage() {
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (state.playing) restage(); else if (state.view) stagings.ask(); }, 120);
  }
  function reask() {
    clearTimeout(timer);
    if (!input.value) { answer.textContent = ''; return; }
    timer = setTimeout(() => { guess = input.value; guesses.ask(); }, 200);
  }
  function tell() {
    const found = playground.read(props);
    if (!found) return;
    guesses.answered(found.turn);
    stagings.answered(found.turn);
    if (found.text !== state.view.text) return; // another text has come meanwhile
    if ('staged' in found) { known = found; draw(); return; }
    if (found.at !== state.at || !input.value) return;
    answer.textContent = fill(found.more ? words().asked_first : words().asked, { ...found, p: number(found.probability, 4), logit: found.logit.toFixed(3) });
  }

  input.addEventListener('input', reask);
  on('view', draw);
  on('at', () => { draw(); if (known?.staged || (state.view && !state.view.greedy)) restage(); });
  on('choosing', restage);
  on('language', draw);
  watch('value', tell);
  draw();
};
