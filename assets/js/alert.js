// The last refusal, in the visitor's language; it goes when something succeeds.
playground.alert = (element, props, watch) => {
  const { el, state, on } = playground;
  const root = element.querySelector('.alert');
  const draw = () => root.replaceChildren(...(props.value ? [el('p', { text: props.value[state.lang] })] : []));
  on('language', draw);
  watch('value', () => { draw(); if (props.value) playground.bus.dispatchEvent(new CustomEvent('refused')); });
  draw();
};
