// Starts and stops the sweep, and shows how far it has come.
playground.sweep = (element, props, watch, start, stop) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.sweep');
  let pending = false;

  function draw(focus) {
    const { done, total, running } = playground.read(props) ?? { done: 0, total: 1, running: false };
    const w = props.words[state.lang];
    const busy = running || pending;
    const label = state.view?.labels[state.at - state.view.start] ?? '';
    const said = running ? fill(w.progress, { done, total }) : done === total && done ? fill(w.finished, { total }) : '';
    root.replaceChildren(
      el('button', { type: 'button', class: 'pg-button start', text: fill(w.start, { token: label }), disabled: busy, onclick: () => { pending = true; start({ at: state.at }); draw('.stop'); } }),
      el('button', { type: 'button', class: 'pg-button stop', text: w.cancel, disabled: !busy, onclick: () => { pending = false; stop({}); draw('.start'); } }),
      el('progress', { max: total, value: busy ? done : 0, 'aria-label': w.bar, hidden: !busy }),
      el('span', { class: 'note', role: 'status', text: said }));
    if (focus) root.querySelector(focus)?.focus({ preventScroll: true });
  }

  function take() {
    const hadFocus = root.contains(document.activeElement) ? '.stop:not(:disabled), .start:not(:disabled)' : null;
    pending = false;
    draw(hadFocus);
  }
  on('language', () => draw());
  on('at', () => draw());
  on('view', () => draw());
  on('refused', take);
  watch('value', take);
  draw();
};
