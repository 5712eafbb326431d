// The lessons: a list of them, and one experiment at a time with its controls, pictures, formula, code and questions.
// Nothing is asked of the server before the tab is opened: only then does this run.
playground.lessons = (element, props, watch, ask, begin, stop, through, take_home) => {
  const { el, fill, state, on, arrived } = playground;
  const root = element.querySelector('.lessons');
  const words = () => props.words[state.lang];
  const { table } = props;
  // What is known of each experiment: its description by language, the visitor's values, the last answer, the guesses.
  const parts = Object.fromEntries(table.flatMap((lesson) => lesson.parts.map((name) => [name, { lesson: lesson.name, about: {}, values: null, answer: null, guesses: {}, slots: {} }])));
  const first = (lesson) => table.find(({ name }) => name === lesson).parts[0];
  let part = null, drawn = '';

  const contents = el('nav', { class: 'contents' });
  const title = el('h2', { tabindex: -1 });
  const steps = el('div', { class: 'steps', role: 'group' });
  const prose = el('div', { class: 'prose' });
  const side = el('div', { class: 'asked' });
  const training = el('div', { class: 'sweep' });
  const pictures = el('div', { class: 'found' });
  const behind = el('div', { class: 'behind' });
  const stages = playground.lessonStages(words, through, take_home);
  const questions = playground.lessonQuestions(words);
  const turn = el('div', { class: 'turn' });
  root.append(contents, el('article', {}, title, steps, prose, el('div', { class: 'experiment' }, side, el('div', { class: 'outcome' }, pictures, stages.root)), questions.root, behind, turn));

  const href = (name) => `?${new URLSearchParams({ tab: 'lessons', lesson: parts[name].lesson, part: name, lang: state.lang })}`;
  const link = (name, kind, text, current) => el('a', { class: kind, href: href(name), text, 'data-part': name, 'aria-current': current ? 'true' : null,
    onclick: (event) => { if (event.ctrlKey || event.metaKey || event.shiftKey) return; event.preventDefault(); open(name, true); } });
  const order = () => Object.keys(parts);

  function lists() {
    const w = words(), now = parts[part].lesson, names = table.find(({ name }) => name === now).parts;
    contents.setAttribute('aria-label', w.contents);
    contents.replaceChildren(el('ol', {}, ...table.map(({ name }) => el('li', {}, link(first(name), 'lesson', w[`title_${name}`], name === now)))));
    const list = contents.firstElementChild, current = list.querySelector('[aria-current]');
    list.scrollLeft = current.offsetLeft - list.offsetLeft - 24; // on a phone the list is one line
    title.textContent = w[`title_${now}`];
    steps.setAttribute('aria-label', w.steps);
    steps.hidden = names.length < 2;
    steps.replaceChildren(...names.map((name) => link(name, 'pill', w[`title_${name}`], name === part)));
    const at = order().indexOf(part);
    const to = (name, kind, mark) => (name ? [link(name, `pg-button ${kind}`, fill(mark, { title: w[`title_${name}`] }), false)] : []);
    turn.replaceChildren(...to(order()[at - 1], 'previous', w.previous), ...to(order()[at + 1], 'next', w.next));
  }

  // One frame for each picture of each experiment, made once: plotly keeps what it holds, and zoom belongs to one picture.
  function frame(name) {
    const box = el('div', { class: 'pg-figure', id: `lesson-${name.replaceAll('_', '-')}` });
    const half = el('div', { class: 'half', 'data-called': `lesson-${name}` }, el('div', { class: 'plot', role: 'img' }), el('p', { class: 'note', 'aria-live': 'polite' }));
    const heard = [], own = { value: null };
    box.append(half);
    playground.figure(half, playground.given.figure(own), (_, changed) => heard.push(changed), () => {});
    return { box, show: (value) => { if (own.value === value) return; own.value = value; heard.forEach((each) => each()); } };
  }

  // Tables of texts, made anew only when they changed: somebody may be reading, or have marked a line.
  function samples(here, tables) {
    const told = JSON.stringify(tables);
    if (here.told !== told) {
      here.told = told;
      const row = (cells, columns) => el('tr', {}, ...cells.map((text, i) => el(i ? 'td' : 'th', { scope: i ? null : 'row', 'data-column': columns[i], text })));
      here.samples = tables.map(({ title, columns, rows }) => el('table', { class: 'samples' }, el('caption', { text: title }),
        el('thead', {}, el('tr', {}, ...columns.map((text) => el('th', { scope: 'col', text })))), el('tbody', {}, ...rows.map((cells) => row(cells, columns)))));
    }
    return here.samples;
  }

  // What was found, as far as it is known in this language.
  function found() {
    const here = parts[part], shown = here.answer?.shown[state.lang];
    progress();
    const ahead = here.about[state.lang]?.questions ?? []; // asked before a training, for whoever saw its end predicts nothing
    const known = shown?.questions.length ? shown.questions : ahead;
    const told = here.answer?.progress;
    if (known.length || drawn !== part) questions.draw(known, here.guesses, known === ahead || !!here.started || told?.done < told?.total);
    if (!shown) { if (drawn !== part) { pictures.replaceChildren(); stages.draw([], {}); } return; }
    const names = Object.keys(shown.pictures);
    for (const name of names) here.slots[name] ??= frame(name);
    const boxes = [...samples(here, shown.samples), ...names.map((name) => here.slots[name].box)];
    if (boxes.length !== pictures.children.length || boxes.some((box, i) => pictures.children[i] !== box)) pictures.replaceChildren(...boxes);
    for (const name of names) here.slots[name].show(shown.pictures[name]);
    stages.draw(shown.stages, here.answer.models ?? {});
    drawn = part;
    root.dataset.found = `${part} ${state.lang}`;
  }

  // A training: started, stopped, resumed where it stopped or begun again, and how far it has come.
  function run(anew) {
    const here = parts[part];
    const asked = here.started = playground.question();
    for (const each of Object.values(parts)) each.meant = null; // the server keeps one training
    here.meant = JSON.stringify(here.values);
    begin({ asked, part, values: here.values, anew });
    for (const [name, guess] of Object.entries(here.guesses)) if (guess.revealed) delete here.guesses[name]; // predict again
    found();
    halt.focus({ preventScroll: true });
  }
  const start = el('button', { type: 'button', class: 'pg-button start', onclick: () => run(false) });
  const anew = el('button', { type: 'button', class: 'pg-button anew', onclick: () => run(true) });
  const halt = el('button', { type: 'button', class: 'pg-button stop', onclick: () => { stop({}); parts[part].started = null; found(); start.focus({ preventScroll: true }); } });
  const bar = el('progress', {});
  const said = el('span', { class: 'note', role: 'status' });
  training.append(start, halt, anew, bar, said);
  function progress() {
    const w = words(), here = parts[part], told = here.answer?.progress;
    training.hidden = !here.about[state.lang]?.trains;
    const busy = !!here.started;
    const halfway = !busy && told && told.done < told.total && here.meant === JSON.stringify(here.values);
    start.textContent = halfway ? w.resume : w.start;
    halt.textContent = w.stop;
    anew.textContent = w.anew;
    anew.hidden = !halfway;
    start.disabled = busy;
    halt.disabled = !busy;
    bar.hidden = !busy;
    bar.setAttribute('aria-label', w.progress);
    const mine = told && (!busy || here.answer.asked === here.started);
    Object.assign(bar, { max: told?.total ?? 1, value: mine ? told.done : 0 });
    said.textContent = mine ? fill(busy ? w.running : told.done < told.total ? w.stopped : w.finished, told) : busy ? '' : w.invite;
  }

  function describe() {
    const about = parts[part].about[state.lang], here = parts[part], w = words();
    if (!about) return;
    here.values ??= Object.fromEntries(about.controls.map(({ name, value }) => [name, value]));
    prose.replaceChildren(...about.sentences.map((text) => el('p', { text })));
    const form = () => playground.lessonControls(about.controls, here.values, (all) => { if (all) side.firstElementChild.replaceWith(form()); if (about.trains) progress(); else want(); }, w);
    side.replaceChildren(form(), training);
    const formula = el('div', { class: 'formula', tabindex: 0, role: 'region', 'aria-label': w.formula });
    const lines = new DOMParser().parseFromString(about.formula, 'text/html').body.children; // ours, from assets/formulas
    formula.replaceChildren(...[...lines].map((line) => document.adoptNode(line)));
    const code = about.code.flatMap((each) => playground.code(each, w.code_at));
    behind.replaceChildren(el('div', {}, el('h3', { text: w.formula }), formula), el('div', {}, el('h3', { text: w.code }), ...code));
  }

  // Ask for this experiment as its controls stand.
  let slow;
  const asks = playground.newest((asked) => ask({ asked, part, values: parts[part].values ?? {}, known: !!parts[part].about[state.lang] }), rest);
  function want() {
    clearTimeout(slow);
    slow = setTimeout(() => pictures.classList.add('stale'), 400);
    asks.ask();
  }
  function rest() {
    if (asks.busy) return;
    clearTimeout(slow);
    pictures.classList.remove('stale');
  }

  function open(name, focus) {
    part = name;
    playground.look({ lesson: parts[name].lesson, part: name });
    lists();
    show();
    if (focus) { title.focus({ preventScroll: true }); if (title.getBoundingClientRect().top < 0) title.scrollIntoView(); }
  }
  function show() {
    const here = parts[part];
    if (!here.about[state.lang]) { prose.replaceChildren(); side.replaceChildren(); behind.replaceChildren(); }
    describe();
    found();
    if (!here.about[state.lang] || !(here.about[state.lang].trains || here.answer?.shown[state.lang])) want();
  }

  function take() {
    const answer = playground.read(props);
    if (!answer) return;
    const here = parts[answer.part];
    if (answer.about) Object.assign(here.about, answer.about);
    const late = Object.keys(here.answer?.shown ?? {}).length && answer.asked < here.answer.asked;
    if (!late && (Object.keys(answer.shown).length || !here.answer)) here.answer = answer;
    if (answer.progress && !answer.progress.running && answer.asked === here.started) here.started = null;
    if (answer.part === part) {
      if (answer.about) describe();
      found();
    }
    asks.answered(answer.asked);
    rest();
  }

  on('language', () => { for (const here of Object.values(parts)) if (here.answer && !here.answer.shown[state.lang]) here.answer = null; lists(); show(); });
  on('refused', () => { // it may be anything on the page that was
    for (const here of Object.values(parts)) if (here.started && !playground.awaits(here.started)) here.started = null;
    found();
  });
  on('trouble', (now) => { if (!now && root.offsetParent && !parts[part].about[state.lang]?.trains) want(); });
  watch('value', take);
  const lesson = table.find(({ name }) => name === arrived.get('lesson')) ?? table[0];
  open(lesson.parts.includes(arrived.get('part')) ? arrived.get('part') : lesson.parts[0], false);
};
