// What the page's components share: which position is selected, which token is hovered, the language, the URL.
// Components talk through `bus`; nothing here asks the server.
window.playground = (() => {
  const bus = new EventTarget();
  const arrived = new URLSearchParams(location.search); // before the page itself writes there
  const state = { at: 0, hover: -1, lang: 'en', view: null, playing: false, look: {} };

  const say = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));
  const on = (name, heard) => bus.addEventListener(name, (event) => heard(event.detail));

  function select(position) {
    const { start, steps } = state.view ?? { start: 0, steps: [] };
    state.at = Math.max(start, Math.min(position, start + steps.length - 1));
    say('at', state.at);
    remember();
  }

  function hover(position) {
    if (position === state.hover) return;
    state.hover = position;
    say('hover', position);
  }

  function show(view) {
    state.view = view;
    say('view', view);
  }

  const markLanguage = () => { document.documentElement.lang = state.lang === 'zh' ? 'zh-CN' : 'en'; };
  function setLanguage(lang) {
    state.lang = lang;
    markLanguage();
    keep('language', lang);
    say('language', lang);
    remember();
  }

  function look(what) {
    Object.assign(state.look, what);
    remember();
  }

  function open(tab) {
    if (state.look.tab === tab) return;
    look({ tab });
    say('see');
  }

  // The URL restores the page. Written a moment after the last change, so that playing does not flood the history,
  // and not before the page has become what the URL asks for: Gradio sends the URL of that moment to the server.
  const FOLDS = [['beside', 'compare'], ['temperature', 'settings']]; // what the address sets inside a fold is not hidden
  let timer, settled = false;
  function settle() {
    settled = true;
    markLanguage(); // Gradio has put the browser's there
    remember();
    document.documentElement.dataset.settled = '1'; // for whoever watches from outside, as our tests do
    say('settled');
    for (const [name, fold] of FOLDS) if (arrived.has(name)) document.querySelector(`#${fold} .label-wrap:not(.open)`)?.click();
    if (typed !== null) write(typed);
    setTimeout(() => pressed.forEach((press) => press()));
  }
  // What is typed before that outlives the prompt of the address. What is pressed before that waits, and is pressed then:
  // the server would refuse it, and what the address asks for would replace it.
  const WAIT = '#run, .transport button, .switches button, .switches input, [role=tab]';
  const KEYS = ['ArrowRight', 'ArrowLeft', 'Home', 'End', ' '];
  const pressed = [];
  let typed = null;
  function hold(event) {
    if (settled || saved) return;
    if (event.type === 'input') { if (event.target.closest?.('#prompt')) typed = event.target.value; return; }
    const press = event.type === 'click' ? clicked(event.target) : keyed(event);
    if (!press) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    pressed.push(press);
    say('asked');
  }
  function clicked(target) {
    const found = target.closest?.(WAIT);
    return found && (() => (found.isConnected ? found : document.querySelector(alike(found)))?.click());
  }
  // Drawn anew meanwhile, it is known by its id, by what it turns off or unfolds, or else by what it looks like.
  function alike({ id, dataset, classList }) {
    if (id) return `#${CSS.escape(id)}`;
    const [name] = ['word', 'more'].filter((each) => each in dataset);
    return name ? `[data-${name}="${dataset[name]}"]` : `.${[...classList].map(CSS.escape).join('.')}`;
  }
  function keyed({ key, target, shiftKey, ctrlKey, metaKey, altKey, isComposing, repeat }) {
    if (isComposing || repeat || shiftKey || ctrlKey || metaKey || altKey) return null;
    if (key === 'Enter' && target.closest?.('#prompt')) return () => document.querySelector('#run').click();
    const moves = KEYS.includes(key) && (target === document.body || target.closest?.('.strip'));
    return moves && (() => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })));
  }
  for (const name of ['input', 'click', 'keydown']) document.addEventListener(name, hold, true);
  function write(text) {
    const box = document.querySelector('#prompt textarea');
    box.value = text;
    box.dispatchEvent(new Event('input', { bubbles: true }));
  }
  // A session that the server forgot begins anew with what the address says.
  const again = () => { if (settled) location.replace(address()); return settled; };
  function address() {
    const url = new URL(location.href);
    const wanted = { ...state.view?.query, at: state.at, lang: state.lang, ...state.look };
    for (const [name, value] of Object.entries(wanted)) {
      if (value === null || value === '' || value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    return url.href;
  }
  function remember() {
    clearTimeout(timer);
    if (!settled) return;
    timer = setTimeout(() => {
      if (state.view && address() !== location.href) history.replaceState(history.state, '', address());
    }, 250);
  }

  // Gradio copies all that its components know, thousands of values for one step, each by itself: what is no object is
  // its own copy.
  const copy = window.structuredClone;
  const plain = new Set(['string', 'number', 'boolean', 'undefined', 'bigint']);
  window.structuredClone = (value, ...how) => (value === null || plain.has(typeof value) ? value : copy(value, ...how));

  // Gradio asks through fetch. What gets no answer at all, or finds no place in the queue, is told in our own words,
  // until something gets an answer again, or a place.
  const ask = window.fetch;
  let trouble = null;
  window.fetch = async (...request) => {
    const asked = String(request[0]?.url ?? request[0]);
    const ours = asked.includes('gradio_api'), queues = asked.includes('queue/join');
    try {
      const answer = await (queues ? joined(request) : ask(...request));
      if (asked.includes('queue/data') && answer.ok) return unbroken(answer, request);
      if (queues && answer.status === 503) say('trouble', trouble = 'full');
      else if (ours && trouble && (queues || trouble === 'lost')) say('trouble', trouble = null);
      return answer;
    } catch (error) {
      if (ours && error.name !== 'AbortError') say('trouble', trouble = 'lost');
      throw error;
    }
  };

  // Questions in the queue by their names there, those on their way into it by one of ours; and what each says.
  const unanswered = new Map();
  const early = new Set(); // answered over a stream that was open before the queue had told their names
  async function joined(request) {
    const onItsWay = Symbol('question'), said = JSON.parse(request[1]?.body ?? '{}').event_data;
    unanswered.set(onItsWay, said);
    try {
      const answer = await ask(...request);
      const name = answer.ok ? (await answer.clone().json()).event_id : null;
      if (name && !early.delete(name)) unanswered.set(name, said);
      return answer;
    } finally {
      unanswered.delete(onItsWay);
    }
  }
  const awaits = (number) => [...unanswered.values()].some((said) => said && [said.turn, said.asked].includes(number));

  // The stream of answers, handed on message by message. The server ends it as soon as it knows of no question; one that
  // is asked at that very moment would be lost with it, so then the stream is taken up again.
  function unbroken(answer, request) {
    const bytes = new TextEncoder();
    return new Response(new ReadableStream({ async start(out) {
      const send = (message) => out.enqueue(bytes.encode(message));
      try {
        let ending = '', from = answer;
        do {
          ending = await handOn(from.body, send);
          from = ending && unanswered.size ? await ask(...request) : null;
        } while (from?.ok);
        send(ending);
        out.close();
      } catch (error) {
        out.error(error);
      }
      for (const name of unanswered.keys()) if (typeof name === 'string') unanswered.delete(name); // gets no answer now
    } }), answer);
  }

  // Every message but the one that ends the stream, which is returned.
  async function handOn(body, send) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '', ending = '', read;
    do {
      read = await reader.read();
      const messages = (rest + (read.value ?? '')).split('\n\n');
      rest = messages.pop();
      for (const message of messages) {
        hear(message.slice(0, 400)); // what matters stands at the beginning of even the longest
        if (/^data: \{"msg": ?"close_stream"/.test(message)) ending = `${message}\n\n`;
        else send(`${message}\n\n`);
      }
    } while (!read.done);
    return ending;
  }

  // How long the line is in front of whoever waits is told there too: {"msg": "estimation", "event_id": "...", "rank": 2}.
  const places = new Map();
  function hear(message) {
    const [, said] = /^data: \{"msg": ?"(\w+)"/.exec(message) ?? [];
    const [, id] = /"event_id": ?"(\w+)"/.exec(message) ?? [], [, rank] = /"rank": ?(\d+)/.exec(message) ?? [];
    if ((said === 'process_completed' || said === 'unexpected_error') && id && !unanswered.delete(id)) early.add(id);
    if (said === 'estimation' && rank) places.set(id, Number(rank) + 1);
    else places.delete(id);
    wait();
  }
  let waiting = null;
  function wait() { // told after a second: mostly it is over by then
    if (places.size) {
      waiting ??= setTimeout(() => { waiting = null; say('place', Math.max(...places.values())); }, 1000);
      return;
    }
    clearTimeout(waiting);
    waiting = null;
    say('place', 0);
  }

  // Asks one question at a time, and then what is wanted by then: of two under way together Gradio's `always_last` would
  // send the first once more. `send` is given a number that no other question has, for the answer to bring back;
  // `refused` is called when there was none and nothing else is wanted by then.
  let questions = 0;
  const question = () => (questions += 1);
  function newest(send, refused) {
    let underWay = 0, again = false;
    function ask() {
      if (underWay) { again = true; return; }
      again = false;
      send(underWay = question());
    }
    function free() {
      underWay = 0;
      if (again) ask();
    }
    on('trouble', (now) => { if (!now && underWay) { again = true; free(); } }); // the answer was lost
    on('refused', () => { // this one, or another
      if (!underWay || awaits(underWay)) return;
      free();
      if (!underWay) refused();
    });
    return {
      ask,
      answered: (number) => { if (number === underWay) free(); },
      get busy() { return underWay > 0; },
    };
  }

  // Storage is forbidden in some frames; the page does without.
  function keep(name, value) {
    try { localStorage.setItem(`playground-${name}`, value); } catch { /* not kept */ }
  }
  function kept(name) {
    try { return localStorage.getItem(`playground-${name}`); } catch { return null; }
  }

  // The page comes worded in one language; the visitor's own is asked for as soon as it has loaded.
  let served = 'en', fixed = false, saved = false; // a page taken home waits for nobody
  function begin(lang, chosen, home = false) { state.lang = served = lang; fixed = chosen; saved = home; markLanguage(); }
  function language() {
    const asked = arrived.get('lang') ?? kept('language') ?? (fixed ? served : navigator.language);
    return /^zh\b/i.test(asked) ? 'zh' : 'en';
  }

  function toggleDark() {
    const dark = document.body.classList.toggle('dark');
    keep('dark', dark ? '1' : '0');
  }
  document.addEventListener('DOMContentLoaded', () => {
    const wanted = kept('dark');
    if (wanted !== null && !arrived.has('__theme')) {
      const set = () => document.body.classList.toggle('dark', wanted === '1');
      set();
      setTimeout(set, 0);
    }
  });

  // The Enter that accepts a candidate of an input method (Chinese, Japanese) belongs to it alone: it runs nothing.
  for (const name of ['keydown', 'keypress']) {
    document.addEventListener(name, (event) => { if (event.isComposing && event.key === 'Enter') event.stopImmediatePropagation(); }, true);
  }

  // An element with text, never markup: whatever a visitor typed stays text.
  function el(tag, { text, ...attributes } = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined) continue;
      if (name.startsWith('aria-')) made.setAttribute(name, String(value));
      else if (value === false) continue;
      else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? '' : value);
    }
    if (text !== undefined) made.textContent = text;
    made.append(...children);
    return made;
  }

  // A file that the server has made for the visitor.
  function fetched(file) {
    download(file.url, file.orig_name);
    say('file', file);
  }
  function download(href, name) {
    const link = el('a', { href, download: name });
    document.body.append(link);
    link.click();
    link.remove();
  }

  // Fills the blanks of a sentence: fill('{a} of {b}', {a: 1, b: 2}).
  const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

  function number(value, digits = 3) {
    if (value === 0) return '0';
    const size = Math.abs(value);
    return size < 10 ** -digits ? value.toExponential(1) : value.toFixed(digits);
  }

  // Values travel as JSON text: Gradio would otherwise walk through every number of them at every update.
  const read = (props) => (props.value ? JSON.parse(props.value) : null);

  // What a component knows from the start comes with the page, not from Gradio: see `given` in components.py.
  const given = {};
  function know(all) {
    for (const [script, known] of Object.entries(all)) given[script] = (props) => Object.setPrototypeOf({ ...known }, props);
  }

  // What to call the file of a component.
  const called = (element) => element.dataset.called ?? ((element.closest('.block') ?? element).id || 'figure');

  const typing = (target) => target.closest?.('input, textarea, select, [contenteditable], [role=tab], [role=slider], [role=listbox], [role=radio]');

  return { bus, state, say, on, select, hover, show, begin, setLanguage, language, look, open, address, again, settle, toggleDark, question, newest, awaits, el, download, fetched, fill, number, read, know, given, called, typing, keep, kept, arrived };
})();
