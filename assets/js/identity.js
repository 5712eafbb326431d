// The residual identity in one sentence, with the difference measured on this run.
playground.identity = (element, props, watch) => {
  const line = element.querySelector('.identity');
  const draw = () => {
    if (!props.value) return;
    line.textContent = props.value.text;
    line.className = `identity ${props.value.kind}`;
    line.dataset.difference = props.value.difference;
  };
  watch('value', draw);
  draw();
};
