// The last refusal, in the visitor's language; it goes when something succeeds.
playground.alert = (element, props, watch) => {
  const { el, state, on } = playground;
  const root = element.querySelector('.alert');
  function draw() {
    const refusal = playground.read(props);
    root.replaceChildren(...(refusal ? [el('p', { text: refusal[state.lang] })] : []));
    return refusal;
  }
  on('language', draw);
  watch('value', () => { if (draw()) playground.bus.dispatchEvent(new CustomEvent('refused')); });
  draw();
};
