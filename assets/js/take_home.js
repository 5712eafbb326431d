// What a visitor takes along: the address of this very view, the run as numbers, as a page, as lines of Python.
playground.take_home = (element, props, watch, wanted) => {
  const { el, state, on } = playground;
  const root = element.querySelector('.take-home');
  const told = el('p', { class: 'note', role: 'status' });
  const by_hand = el('input', { class: 'pg-input', type: 'text', readonly: true, hidden: true });
  const code = el('pre', { class: 'snippet', tabindex: 0 });
  const buttons = {};
  const words = () => props.words[state.lang];

  // The clipboard is forbidden in some frames, such as a Space's; the old command still works there, and a text that
  // can be selected works everywhere.
  async function copy(text) {
    by_hand.hidden = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el('textarea', { class: 'copying', text });
      document.body.append(area);
      area.select();
      const copied = document.execCommand('copy');
      area.remove();
      if (!copied) {
        by_hand.value = text;
        by_hand.hidden = false;
        by_hand.select();
        told.textContent = words().by_hand;
        return;
      }
    }
    told.textContent = words().copied;
  }

  const actions = {
    link: () => copy(playground.address()),
    report: () => { told.textContent = words().making; wanted({ what: 'report', at: state.at }); },
    npz: () => { told.textContent = words().making; wanted({ what: 'npz' }); },
    copy_code: () => copy(snippet()),
  };
  for (const name of Object.keys(actions)) buttons[name] = el('button', { type: 'button', class: `pg-button ${name}`, onclick: actions[name] });
  root.append(el('div', { class: 'tools' }, buttons.link, buttons.report, buttons.npz), told, by_hand, el('h3', {}), code, buttons.copy_code);

  const snippet = () => (playground.read(props)?.snippet ?? '').replaceAll('__POSITION__', String(state.at - (state.view?.start ?? 0)));
  function draw() {
    const w = words();
    for (const [name, button] of Object.entries(buttons)) { button.textContent = w[name]; button.title = w[`${name}_help`]; }
    root.querySelector('h3').textContent = w.reproduce;
    by_hand.setAttribute('aria-label', w.link);
    code.setAttribute('aria-label', w.reproduce);
    code.textContent = snippet();
  }

  for (const name of ['at', 'language']) on(name, draw);
  on('file', () => { told.textContent = ''; });
  on('refused', () => { told.textContent = ''; });
  watch('value', draw);
  draw();
};
