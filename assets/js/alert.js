// The last refusal, in the visitor's language; it goes when something succeeds. A server that is gone is told first.
playground.alert = (element, props, watch) => {
  const { el, state, on } = playground;
  const root = element.querySelector('.alert');
  let lost = false;
  function draw() {
    const w = props.words[state.lang];
    const said = lost ? w.lost : playground.read(props)?.[state.lang];
    if (said !== (root.textContent || undefined)) root.replaceChildren(...(said ? [el('p', { text: said })] : []));
    return said;
  }
  const tell = () => { if (draw()) playground.say('refused'); };
  on('language', draw);
  on('lost', (now) => { lost = now; document.documentElement.toggleAttribute('data-lost', lost); tell(); });
  watch('value', tell);
  draw();
};
