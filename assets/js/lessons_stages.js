// A model in training, at every checkpoint: what it writes, a slider through time, and the whole page to look through it.
playground.lessonStages = (words, through, take) => {
  const { el, fill, state } = playground;
  const slider = el('input', { type: 'range', min: 0, step: 1, oninput: () => go(Number(slider.value)) });
  const told = el('output', {});
  const written = el('pre', { class: 'written', tabindex: 0 });
  const look = el('button', { type: 'button', class: 'pg-button through', onclick: () => wish(chosen()) });
  const file = el('button', { type: 'button', class: 'pg-button take', onclick: () => { making = true; show(); take({ model: name(chosen()) }); } });
  const said = el('p', { class: 'note', role: 'status' });
  const root = el('section', { class: 'stages', hidden: true }, el('h3', {}), el('label', {}, el('span', {}), told, slider), written, el('div', { class: 'tools' }, look, file), said);
  let stages = [], models = {}, at = -1; // at: -1 follows the newest
  let timer, wanted = null, making = false;
  const reads = playground.newest((turn) => through({ model: wanted, turn }), () => show());

  const chosen = () => stages[at < 0 ? stages.length - 1 : Math.min(at, stages.length - 1)];
  const name = (stage) => models[stage?.step];
  const seen = () => stages.find((stage) => name(stage) && name(stage) === state.view?.query.model);
  function wish(stage) {
    wanted = name(stage);
    reads.ask();
    show();
  }
  function go(to) {
    at = to === stages.length - 1 ? -1 : to;
    show();
    clearTimeout(timer); // who looks through one checkpoint and moves on looks through the next
    if (seen() && seen() !== chosen() && name(chosen())) timer = setTimeout(() => wish(chosen()), 300);
  }
  function show() {
    const w = words(), stage = chosen();
    root.hidden = !stage;
    if (!stage) return;
    root.querySelector('h3').textContent = w.stages;
    root.querySelector('label span').textContent = w.checkpoint;
    Object.assign(slider, { max: stages.length - 1 });
    slider.value = stages.indexOf(stage);
    slider.setAttribute('aria-label', w.checkpoint);
    slider.setAttribute('aria-valuetext', stage.told);
    told.textContent = stage.told;
    written.textContent = stage.written;
    written.setAttribute('aria-label', w.written);
    look.textContent = w.through;
    file.textContent = w.take;
    look.disabled = !name(stage) || seen() === stage;
    file.disabled = !name(stage);
    const looking = seen();
    const telling = making ? w.making : reads.busy ? w.reading : looking ? fill(w.looking, { step: looking.step }) : w.through_help;
    if (said.textContent !== telling) said.textContent = telling;
  }
  playground.on('view', () => { reads.answered(state.view.turn); show(); });
  playground.on('file', () => { making = false; show(); });
  playground.on('refused', () => { making = false; show(); });
  function draw(all, lent) {
    if (stages.length > all.length) at = -1; // another training
    else if (at < 0 && seen()) at = stages.indexOf(seen()); // who looks through one stays there
    stages = all;
    models = lent;
    show();
  }
  return { root, draw };
};
