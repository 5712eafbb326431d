// Starts and stops the sweep, and shows how far it has come.
playground.sweep = (element, props, watch, start, stop) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.sweep');
  let asked = null; // what the visitor pressed last, until the server answers
  let cancelled = false; // progress that was under way when it was cancelled may still arrive

  // Made once, so that a press is not lost when progress arrives between its down and its up.
  const begin = el('button', { type: 'button', class: 'pg-button start', onclick: () => { asked = 'start'; cancelled = false; start({ at: state.at }); draw(); cancel.focus({ preventScroll: true }); } });
  const cancel = el('button', { type: 'button', class: 'pg-button stop', onclick: () => { asked = 'stop'; cancelled = true; stop({}); draw(); begin.focus({ preventScroll: true }); } });
  const bar = el('progress', {});
  const said = el('span', { class: 'note', role: 'status' });
  root.append(begin, cancel, bar, said);

  function draw() {
    const { done, total, mean, running: told } = playground.read(props) ?? { done: 0, total: 1, running: false };
    const running = told && !cancelled;
    const w = props.words[state.lang];
    const busy = asked ? asked === 'start' : running;
    const kind = state.view?.query.off?.split(',').includes('mean') ? 'mean' : 'zero';
    begin.textContent = fill(w[`start_${kind}`], { token: state.view?.labels[state.at - state.view.start] ?? '' });
    cancel.textContent = w.cancel;
    begin.disabled = busy;
    cancel.disabled = !busy;
    bar.hidden = !busy;
    bar.setAttribute('aria-label', w.bar);
    Object.assign(bar, { max: total, value: running ? done : 0 });
    said.textContent = busy ? (running ? fill(w.progress, { done, total }) : '') : done === total && mean === (kind === 'mean') ? fill(w.finished, { total }) : '';
  }

  function take() {
    const hadFocus = document.activeElement === cancel;
    asked = null;
    draw();
    if (hadFocus && cancel.disabled) begin.focus({ preventScroll: true });
  }
  on('language', draw);
  on('at', draw);
  on('view', draw);
  on('refused', take);
  watch('value', take);
  draw();
};
