// The residual identity in one sentence, with the difference measured on this run.
playground.identity = (element, props, watch) => {
  const line = element.querySelector('.identity');
  const draw = () => {
    const measured = playground.read(props);
    if (!measured) return;
    line.textContent = measured.text;
    line.className = `identity ${measured.kind}`;
    line.dataset.difference = measured.difference;
  };
  watch('value', draw);
  draw();
};
