// Any component of a tab may show two values beside one another: this run's and another's. Its script knows nothing of
// that: it runs once in each half, and each half has its own value.
playground.twice = (script, element, props, watch, ...senders) => {
  const { el, state, on } = playground;
  const pristine = [...element.childNodes].map((node) => node.cloneNode(true)); // the template, before the script fills it
  const halves = [];

  function read() {
    const told = props.value?.startsWith('{"pair"') ? JSON.parse(props.value) : null;
    return told ? { names: told.names, values: told.pair } : { names: null, values: [props.value] };
  }
  let now = read();

  // What the script sees of the props, and hears of their changes.
  function add(root) {
    const index = halves.length, heard = [];
    halves.push({ root, changed: () => heard.forEach((each) => each()) });
    const own = new Proxy(props, { get: (target, name) => (name === 'value' ? now.values[index] ?? null : target[name]) });
    element.append(root);
    playground[script](root, own, (_, changed) => heard.push(changed), ...senders);
  }

  function caption() {
    halves.forEach(({ root }, i) => {
      if (now.names) root.dataset.name = now.names[state.lang][i];
      else delete root.dataset.name;
    });
  }

  function take() {
    const before = now.values;
    now = read();
    element.classList.toggle('twice', !!now.names);
    caption();
    if (now.names && halves.length === 1) {
      const there = el('div', { class: 'half there' }, ...pristine);
      add(there);
      caption();
      halves[0].changed(); // it has less room now
    } else if (now.names && now.values[1] !== before[1]) halves[1].changed();
    if (now.values[0] !== before[0]) halves[0].changed();
  }

  const here = el('div', { class: 'half' });
  here.append(...element.childNodes);
  add(here);
  on('language', caption);
  watch('value', take);
  if (now.names) take();
};
