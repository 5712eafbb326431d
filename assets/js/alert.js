// The last refusal, in the visitor's language; it goes when something succeeds. A server that is gone, or busy, is told first.
playground.alert = (element, props, watch) => {
  const { el, state, on } = playground;
  const root = element.querySelector('.alert');
  let trouble = null;
  function draw() {
    const w = props.words[state.lang];
    const said = { lost: w.lost, full: w.full }[trouble] ?? playground.read(props)?.[state.lang];
    if (said !== (root.textContent || undefined)) root.replaceChildren(...(said ? [el('p', { text: said })] : []));
    return said;
  }
  const tell = () => {
    if (draw()) playground.say('refused');
    if (playground.read(props)?.lost) playground.again();
  };
  on('language', draw);
  on('trouble', (now) => { trouble = now; document.documentElement.toggleAttribute('data-trouble', Boolean(now)); tell(); });
  watch('value', tell);
  draw();
};
