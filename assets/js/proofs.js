// The proof strip: a badge, and a dialog with one row for each identity of the run on screen.
playground.proofs = (element, props, watch, prove) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.proofs');
  const CALM = 400; // milliseconds that a run must stay on screen: tokens that play by are not proved one by one
  const words = () => props.words[state.lang];
  const badge = el('button', { type: 'button', class: 'pg-button badge', 'aria-haspopup': 'dialog', onclick: () => { fillTable(); dialog.showModal(); } });
  const title = el('h2', { id: 'proofs-title' });
  const about = el('p');
  const table = el('table');
  const close = el('button', { type: 'button', class: 'pg-button', onclick: () => dialog.close() });
  const dialog = el('dialog', { class: 'pg-dialog', 'aria-labelledby': 'proofs-title', onclick: (event) => { if (event.target === dialog) dialog.close(); } },
    el('div', { class: 'head' }, title, close), about, el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-labelledby': 'proofs-title' }, table));
  root.append(badge, dialog);
  let found = null, timer;

  // Proved is what the player shows, or nothing.
  const fits = () => found && state.view && found.text === state.view.text && found.tokens === state.view.start + state.view.labels.length;

  function draw() {
    const w = words();
    const applied = fits() ? found.rows.filter((row) => !row.unless) : [];
    const failed = applied.filter((row) => !row.holds).length;
    const kind = !applied.length ? 'pending' : failed ? 'bad' : 'good';
    const unless = applied.length ? found.rows.length - applied.length : 0;
    const counts = { held: applied.length - failed, failed, total: applied.length };
    const said = { pending: w.pending, good: fill(w.badge, counts), bad: fill(w.badge_bad, counts) }[kind];
    badge.textContent = `${{ pending: '…', good: '✓', bad: '✗' }[kind]} ${said}`;
    badge.className = `pg-button badge ${kind}`;
    badge.disabled = !found;
    badge.setAttribute('aria-label', fill(unless ? w.open_unless : w.open, { state: said, unless }));
    badge.title = badge.getAttribute('aria-label');
    element.dataset.kind = kind;
    if (dialog.open) fillTable();
  }

  function line(row) {
    const w = words();
    const kind = row.unless ? 'unless' : row.holds ? 'holds' : 'fails';
    const said = row.unless ? w[`unless_${row.unless}`] : w[kind];
    const numbers = row.unless ? ['–', '–'] : [row.error, row.tolerance];
    return el('tr', { class: kind, 'data-name': row.name }, el('th', { scope: 'row', text: w[`name_${row.name}`] }), el('td', { class: 'formula', text: row.formula }),
      ...numbers.map((text) => el('td', { class: 'number', text })), el('td', { class: 'state', text: `${{ unless: '○', holds: '✓', fails: '✗' }[kind]} ${said}` }));
  }

  function fillTable() {
    const w = words();
    title.textContent = w.title;
    about.textContent = fill(w.about, found?.limits ?? {});
    close.textContent = w.close;
    const heads = [w.column_name, w.column_formula, w.column_error, w.column_tolerance, w.column_state];
    table.replaceChildren(el('thead', {}, el('tr', {}, ...heads.map((text) => el('th', { scope: 'col', text })))),
      el('tbody', {}, ...(found?.rows ?? []).map(line)));
    dialog.classList.toggle('stale', !fits());
  }

  function ask() {
    clearTimeout(timer);
    draw();
    if (state.view && !fits()) timer = setTimeout(() => (state.playing ? ask() : prove({})), CALM);
  }
  function take() { // it may be about a run that is no longer on screen: then it is asked again
    found = playground.read(props);
    ask();
  }
  on('view', ask);
  on('language', draw);
  on('trouble', (now) => { if (!now) ask(); }); // the answer was lost
  watch('value', take);
  take();
};
