// The token strip and its player. It holds every position computed so far, so that moving among them asks nobody;
// only the frontier, where the text ends, asks the server for one more token.
playground.player = (element, props, watch, branch, ...asks) => {
  const { el, fill, state, on, typing } = playground;
  const strip = element.querySelector('.strip');
  const bar = element.querySelector('.transport');
  const notes = element.querySelector('.notices');
  const SPEEDS = [0.5, 1, 2, 4, 16];
  const BREATH = 4; // milliseconds between two tokens at least, in which the browser shows the one
  let view = null, busy = false, playing = false, goal = 0, timer = null, due = 0, asking = null, speed = 2;
  const words = () => props.words[state.lang];
  const last = () => view.start + view.steps.length - 1;
  const made = () => view.start + view.labels.length - view.n_prompt;

  const ICONS = {
    first: 'M1 1h2v10H1zM11 1v10L4 6z', back: 'M9 1v10L2 6z', step: 'M2 1v10l6-5zM9 1h2v10H9z',
    edit: 'M1 11l.6-2.6 6.6-6.6 2 2-6.6 6.6zM9 1l2 2-.6.6-2-2z',
    play: 'M2 1v10l9-5z', pause: 'M2 1h3v10H2zM7 1h3v10H7z', last: 'M9 1h2v10H9zM1 1v10l7-5z',
  };
  function icon(name) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    for (const [key, value] of Object.entries({ viewBox: '0 0 12 12', width: 12, height: 12, 'aria-hidden': 'true' })) svg.setAttribute(key, value);
    path.setAttribute('d', ICONS[name]);
    svg.append(path);
    return svg;
  }

  const buttons = {};
  for (const name of ['first', 'back', 'step', 'play', 'last', 'edit']) {
    buttons[name] = el('button', { class: `pg-button ${name}`, type: 'button', onclick: () => actions[name]() });
    bar.append(buttons[name]);
  }
  const pace = el('select', { class: 'pg-speed', onchange: () => { speed = +pace.value; } });
  pace.append(...SPEEDS.map((value) => el('option', { value, text: `${value}×`, selected: value === speed })));
  const where = el('span', { class: 'where', 'aria-live': 'polite' });
  const stopped = el('span', { class: 'stopped' });
  const slow = el('span', { class: 'slow', role: 'status' });
  bar.append(pace, where, stopped, slow);

  const actions = {
    first() { halt(); playground.select(view.start); },
    back() { halt(); playground.select(state.at - 1); },
    step() { halt(); advance(); },
    play() { if (playing) halt(); else { goal = 0; playing = true; label(); tick(); } },
    last() { halt(); playground.select(last()); },
    edit() { halt(); edit(state.at); },
  };

  function halt() { playing = false; goal = 0; clearTimeout(timer); label(); }

  // One position on: to a known one at once, else by asking for it.
  function advance() {
    if (state.at < last()) playground.select(state.at + 1);
    else if (!view.stop) more(1);
  }

  function more(count) {
    if (busy) return;
    busy = true;
    element.dataset.busy = '1';
    playground.say('asked');
    ask(count);
  }

  // Should the answer be lost on its way, it is asked for again; who answers knows what was written already. One that
  // waits in the line is given time, for the line would grow by asking.
  const PATIENCE = 10_000, TIMES = 6; // milliseconds, and how often
  function ask(count) {
    clearTimeout(asking);
    const turn = playground.question();
    of_tab(0)({ text: view.text, from: view.start + view.labels.length, count, turn });
    const wait = (times) => {
      asking = setTimeout(() => {
        if (!busy) return;
        if (times && playground.awaits(turn)) wait(times - 1);
        else ask(count);
      }, PATIENCE);
    };
    wait(TIMES);
  }

  // Playing goes from position to position. Fast, it asks for several tokens at once and before it needs them: writing
  // them takes a moment, but each answer its time on the way.
  function tick() {
    clearTimeout(timer);
    if (!playing) return;
    const begun = performance.now(), beat = 600 / speed;
    const ahead = last() - state.at, left = goal ? goal - made() : Infinity;
    const count = Math.min(speed < 4 ? 1 : speed, left);
    if (left > 0 && !view.stop && ahead < count / 2) more(count);
    if (ahead > 0) playground.select(state.at + 1);
    else if (!busy) return halt();
    else return; // the answer goes on
    due = Math.max((begun - due < beat ? due : begun) + beat, performance.now() + BREATH); // drawing takes part of the beat
    timer = setTimeout(tick, due - performance.now());
  }

  // A new text replaces all; more of the same text is added at the end, where the last position now knows its choice.
  function take() {
    const news = playground.read(props);
    if (!news) return;
    const same = view && news.text === view.text;
    const more = same && news.from === view.start + view.labels.length;
    const slid = same && news.start > view.start; // past the context every row is new, yet the text goes on
    const stale = view && news.from > news.start && !more;
    if (stale) return;
    busy = false;
    delete element.dataset.busy;
    const before = state.at, waited = view && before === last(); // who has gone elsewhere meanwhile stays there
    view = more
      ? { ...news, labels: [...view.labels, ...news.labels], steps: [...view.steps.slice(0, -1), ...news.steps], groups: [...view.groups, ...news.groups] }
      : { ...news };
    const continued = more || slid;
    if (!continued) { clearTimeout(timer); playing = false; goal = 0; }
    if (news.goal) { goal = news.goal; playing = made() < goal; }
    state.view = view;
    // A character that the new token completes takes tokens drawn before under it: then all are drawn again.
    const alone = more && !news.groups.some(([first]) => first < news.from);
    draw(alone ? news.labels.length : null);
    playground.show(view);
    playground.select(continued ? before + (waited ? 1 : 0) : news.at ?? before);
    if (playing && (waited || !continued)) { clearTimeout(timer); timer = setTimeout(tick, continued ? Math.max(0, 600 / speed - 60) : 0); }
    label();
  }

  function chip(i) {
    const at = view.start + i;
    const text = view.labels[i];
    const button = el('button', {
      type: 'button', class: `tok${at >= view.n_prompt ? ' made' : ''}`, 'data-i': at, tabindex: -1,
      'aria-label': fill(words().token, { i: at, token: text }), onclick: () => { halt(); playground.select(at); },
    });
    const spaced = /^(·+)(.*)$/s.exec(text);
    if (spaced) button.append(el('i', { text: spaced[1] }), spaced[2]);
    else button.append(text);
    button.append(el('sup', { text: at, 'aria-hidden': 'true' }));
    return button;
  }

  // Tokens that share one character stand together under it.
  function draw(added) {
    const from = added === null ? 0 : view.labels.length - added;
    const chips = [];
    for (let i = from; i < view.labels.length; i += 1) {
      const group = view.groups.find(([first, end]) => first <= view.start + i && view.start + i <= end);
      if (!group) { chips.push(chip(i)); continue; }
      const box = el('span', { class: 'shared', 'data-character': group[2], title: fill(words().shared, { character: group[2] }) });
      for (; i < view.labels.length && view.start + i <= group[1]; i += 1) box.append(chip(i));
      i -= 1;
      chips.push(box);
    }
    if (added === null) strip.replaceChildren(...chips);
    else strip.append(...chips);
    strip.dataset.count = view.labels.length;
  }

  // Other words for one token, typed in its place; the text goes on from them.
  function edit(at) {
    const old = strip.querySelector(`[data-i="${at}"]`);
    if (!old || strip.querySelector('.tok-input')) return;
    const text = view.labels[at - view.start];
    const typed = /[⟨↵⇥␍␀]/.test(text) ? '' : text.replaceAll('·', ' ');
    const input = el('input', { class: 'tok-input', type: 'text', maxlength: 200, value: typed, 'aria-label': words().editing, title: words().editing, autocomplete: 'off' });
    let open = true; // taking the input away blurs it, which would close it again
    const close = () => { if (!open) return; open = false; input.replaceWith(old); old.focus({ preventScroll: true }); };
    input.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      if (event.key === 'Escape') close();
      if (event.key === 'Enter' && input.value) { const instead = input.value; close(); if (instead !== typed) branch({ text: view.text, place: at, instead }); }
    });
    input.addEventListener('blur', close);
    old.replaceWith(input);
    input.focus();
    input.select();
  }

  function label() {
    const w = words();
    const playName = playing ? 'pause' : 'play';
    for (const name of Object.keys(buttons)) {
      const shown = name === 'play' ? playName : name;
      buttons[name].setAttribute('aria-label', w[shown]);
      buttons[name].title = w[shown];
      buttons[name].replaceChildren(icon(shown), ...(name === 'step' || name === 'play' ? [` ${w[shown]}`] : []));
    }
    buttons.play.setAttribute('aria-pressed', playing);
    state.playing = playing;
    pace.setAttribute('aria-label', w.speed);
    pace.title = w.speed;
    strip.setAttribute('aria-label', w.strip);
    if (!view) return;
    buttons.first.disabled = buttons.back.disabled = state.at <= view.start;
    buttons.last.disabled = state.at >= last();
    buttons.step.disabled = state.at >= last() && !!view.stop;
    where.textContent = fill(w.where, { at: state.at, last: last(), made: made() });
    stopped.textContent = view.stop ? w[`stop_${view.stop}`] : '';
    notes.replaceChildren(...(view.notices[state.lang] ?? []).map((text) => el('p', { text })));
  }

  // With the next frame: to ask where it stands while all else is being drawn would lay the page out once more.
  const frame = window.requestAnimationFrame.plain ?? window.requestAnimationFrame; // see first.js
  let scrolling;
  function into(here) {
    const top = here.offsetTop - strip.offsetTop;
    if (top < strip.scrollTop || top + here.offsetHeight > strip.scrollTop + strip.clientHeight) strip.scrollTop = top - strip.clientHeight / 2;
  }

  function mark() {
    for (const old of strip.querySelectorAll('.here')) { old.classList.remove('here'); old.tabIndex = -1; old.removeAttribute('aria-current'); }
    const here = strip.querySelector(`[data-i="${state.at}"]`);
    if (here) {
      const focused = strip.contains(document.activeElement);
      here.classList.add('here');
      here.tabIndex = 0;
      here.setAttribute('aria-current', 'true');
      if (focused) here.focus({ preventScroll: true });
      cancelAnimationFrame(scrolling);
      scrolling = frame(() => into(here));
    }
    element.dataset.at = state.at;
    label();
  }

  // An answer that takes long is said to, once; what is shown meanwhile is the last one and pales.
  const SLOW = 700; // milliseconds
  let patience;
  function answered() {
    clearTimeout(patience);
    slow.textContent = '';
    delete document.documentElement.dataset.slow;
  }
  on('asked', () => {
    answered();
    patience = setTimeout(() => { slow.textContent = words().slow; document.documentElement.dataset.slow = '1'; }, SLOW);
  });
  document.addEventListener('click', (event) => { if (event.target.closest?.('#run')) playground.say('asked'); });
  document.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.shiftKey && event.target.closest?.('#prompt')) playground.say('asked'); });
  for (const name of ['view', 'refused', 'settled']) on(name, answered);

  on('at', mark);
  on('language', () => { label(); if (view) { draw(null); mark(); } });
  on('hover', (position) => {
    for (const old of strip.querySelectorAll('.hot')) old.classList.remove('hot');
    strip.querySelector(`[data-i="${position}"]`)?.classList.add('hot');
  });
  strip.addEventListener('pointerover', (event) => {
    const token = event.target.closest('.tok');
    playground.hover(token ? +token.dataset.i : -1);
  });
  strip.addEventListener('pointerleave', () => playground.hover(-1));

  const keys = (event) => {
    if (!element.isConnected) { document.removeEventListener('keydown', keys); return; }
    if (!view || event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !element.offsetParent) return; // lessons hide it
    const wanted = { ArrowRight: 'step', ArrowLeft: 'back', Home: 'first', End: 'last' }[event.key];
    if (wanted) { event.preventDefault(); actions[wanted](); }
    else if (event.key === ' ' && event.target === document.body) { event.preventDefault(); actions.play(); }
  };
  document.addEventListener('keydown', keys);
  // A step whose answer never came (a refusal, a lost connection) must not block the next.
  on('refused', () => { busy = false; delete element.dataset.busy; halt(); });

  // The open tab is drawn anew when something that it shows is new.
  const tabs = strip.dataset.tabs?.split(' ') ?? []; // the page that is taken home has all in sight
  state.look.tab = tabs.includes(playground.arrived.get('tab')) ? playground.arrived.get('tab') : tabs[0];
  const of_tab = (which) => asks[2 * tabs.indexOf(state.look.tab) + which] ?? (() => {}); // need, see
  const see = () => of_tab(1)({});
  on('see', see);
  on('language', see);
  on('trouble', (now) => { if (!now) see(); }); // whatever was asked meanwhile is lost
  watch('value', () => { take(); if (playground.read(props)?.drawn !== state.look.tab) see(); });
  take();
};
