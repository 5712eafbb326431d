// The last refusal, in the visitor's language; it goes when something succeeds. A server that is gone, or busy, is told
// first, then one's place in the line.
playground.alert = (element, props, watch) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.alert');
  let trouble = null, place = 0;
  function draw() {
    const w = props.words[state.lang];
    const refused = { lost: w.lost, full: w.full }[trouble] ?? playground.read(props)?.[state.lang];
    const said = refused ?? (place ? fill(w.place, { place }) : undefined);
    if (said !== (root.textContent || undefined)) root.replaceChildren(...(said ? [el('p', { text: said, class: refused ? null : 'patience' })] : []));
    return refused;
  }
  on('place', (now) => { place = now; draw(); });
  const tell = () => {
    if (draw()) playground.say('refused');
    if (playground.read(props)?.lost) playground.again();
  };
  on('language', draw);
  on('trouble', (now) => { trouble = now; document.documentElement.toggleAttribute('data-trouble', Boolean(now)); tell(); });
  watch('value', tell);
  draw();
};
