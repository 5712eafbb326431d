// Two buttons of the header: a larger page for a projector, and a short tour that a first visitor is offered.
playground.guide = (element, props) => {
  const { el, fill, state, on, kept, keep, arrived } = playground;
  const root = element.querySelector('.guide');
  const words = () => props.words[state.lang];
  const button = (kind, onclick) => el('button', { type: 'button', class: `pg-button ${kind}`, onclick });

  // The projector's size is a mark on the root: style sheets and figures read it.
  const large = () => document.documentElement.hasAttribute('data-projector');
  function enlarge(wanted) {
    if (wanted === large()) return;
    document.documentElement.toggleAttribute('data-projector', wanted);
    keep('projector', wanted ? '1' : '0');
    playground.look({ projector: wanted ? 1 : null });
    playground.say('size');
    draw();
  }
  const projector = button('projector', () => enlarge(!large()));

  // What each step points at; the card stands beside the first of them.
  const STEPS = [
    ['prompt', '#prompt', '#run'], ['strip', '#player'], ['bars', '#bars'], ['map', '#tabs'],
    ['switches', '#switches'], ['proofs', '#proofs'], ['language', '#language'],
  ];
  let step = -1;
  const help = button('help', () => { go(0); next.focus({ preventScroll: true }); });
  const title = el('h2', { id: 'tour-title' });
  const said = el('p', { 'aria-live': 'polite' });
  const count = el('span', { class: 'count' });
  const skip = button('skip', () => end(true)), back = button('back', () => go(step - 1)), next = button('next', () => go(step + 1));
  const card = el('section', { class: 'tour', 'aria-labelledby': 'tour-title', hidden: true }, title, said, el('div', { class: 'tools' }, count, skip, back, next));
  root.append(projector, help, card);

  function go(to) {
    if (to >= STEPS.length) { end(true); return; }
    const first = step < 0;
    step = to;
    keep('tour', 'done'); // seen once is enough, however the visit ends
    card.hidden = false;
    if (!document.querySelector(STEPS[step][1])?.offsetParent) document.querySelector('#tab-attention-button')?.click(); // lessons hide it
    mark();
    draw();
    const target = document.querySelector(STEPS[step][1]);
    if (!first && target) target.scrollIntoView({ block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
    place();
  }
  function end(focus) {
    const inside = card.contains(document.activeElement);
    step = -1;
    card.hidden = true;
    mark();
    if (focus && inside) help.focus({ preventScroll: true });
  }
  function mark() {
    for (const old of document.querySelectorAll('[data-toured]')) old.removeAttribute('data-toured');
    for (const selector of STEPS[step]?.slice(1) ?? []) document.querySelector(selector)?.setAttribute('data-toured', '');
  }

  // Beside what it points at, or else under it, over it, or at the foot of the window; never outside of it.
  const GAP = 12;
  function place() {
    const target = step < 0 ? null : document.querySelector(STEPS[step][1]);
    if (!target) return;
    const box = target.getBoundingClientRect();
    const { width, height } = card.getBoundingClientRect();
    const [right, bottom] = [document.documentElement.clientWidth - width - GAP, window.innerHeight - height - GAP];
    const within = (value, most) => Math.max(GAP, Math.min(value, most));
    let [left, top] = [box.left, box.bottom + GAP];
    if (box.right + GAP <= right) [left, top] = [box.right + GAP, box.top];
    else if (top > bottom && box.left - width - GAP >= GAP) [left, top] = [box.left - width - GAP, box.top];
    else if (top > bottom) top = box.top - height - GAP >= GAP ? box.top - height - GAP : bottom;
    card.style.left = `${within(left, right)}px`;
    card.style.top = `${within(top, bottom)}px`;
  }

  function draw() {
    const w = words();
    projector.textContent = w.projector;
    projector.title = w.projector_long;
    projector.setAttribute('aria-label', w.projector_long);
    projector.setAttribute('aria-pressed', large());
    help.textContent = '?';
    help.title = w.help;
    help.setAttribute('aria-label', w.help);
    if (step < 0) return;
    const last = step === STEPS.length - 1;
    const [name] = STEPS[step];
    title.textContent = w.title;
    said.textContent = w[`step_${name}`];
    count.textContent = fill(w.count, { at: step + 1, of: STEPS.length });
    skip.textContent = w.skip;
    skip.hidden = last;
    back.textContent = w.back;
    back.disabled = step === 0;
    next.textContent = last ? w.done : w.next;
    place();
  }

  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || step < 0 || event.isComposing || document.querySelector('dialog[open]')) return;
    if (!playground.typing(event.target) || card.contains(event.target)) end(true);
  });
  window.addEventListener('resize', place);
  window.addEventListener('scroll', place, { passive: true });
  on('language', draw);
  on('size', () => requestAnimationFrame(place));
  // Offered to who comes for the first time and asks for nothing in particular, after the page is there.
  // Who has begun by themselves before the page was ready needs nobody to show them where to begin.
  let begun = false;
  for (const act of ['pointerdown', 'keydown']) document.addEventListener(act, () => { begun = true; }, { capture: true, once: true });
  on('settled', () => { if (!begun && ![...arrived.keys()].length && kept('tour') === null) go(0); });
  enlarge((arrived.get('projector') ?? kept('projector')) === '1');
  draw();
};
