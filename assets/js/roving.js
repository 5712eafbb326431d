// Many alike buttons as one stop of the Tab key: the up and down arrows go on among them (left and right step the
// tokens everywhere). Answers what replaces the children of `root`, after which who stood on a button stands there still.
playground.roving = (root, selector) => {
  let place = 0;
  const all = () => [...root.querySelectorAll(selector)];

  function mark() {
    const buttons = all();
    buttons.forEach((button, i) => { button.tabIndex = i === Math.min(place, buttons.length - 1) ? 0 : -1; });
  }

  root.addEventListener('focusin', (event) => {
    const found = all().indexOf(event.target);
    if (found >= 0) { place = found; mark(); }
  });
  root.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !event.target.matches(selector)) return;
    event.preventDefault();
    all()[place + by]?.focus();
  });

  return (...children) => {
    const within = root.contains(document.activeElement) && document.activeElement.matches(selector);
    root.replaceChildren(...children);
    mark();
    if (within) all()[Math.min(place, all().length - 1)]?.focus({ preventScroll: true });
  };
};
