// The controls of one experiment, drawn from their description; `changed(values)` hears of every movement.
playground.lessonControls = (controls, values, changed, w) => {
  const { el } = playground;
  const set = (name, value) => { values[name] = value; changed(); };
  const written = (value, control) => {
    const digits = Math.max(0, -Math.floor(Math.log10(control.step) + 1e-9));
    return Number(value).toFixed(digits);
  };
  let unique = 0;
  const id = () => `lesson-control-${++unique}`;

  function slider(control, value, moved, label, vertical) {
    const said = el('output', { text: written(value, control) });
    const range = el('input', { type: 'range', min: control.low, max: control.high, step: control.step, 'aria-label': label, class: vertical ? 'upright' : null,
      oninput: () => { said.textContent = written(range.value, control); moved(Number(range.value)); } });
    range.value = value;
    return { range, said };
  }

  const KINDS = {
    Number(control) {
      const { range, said } = slider(control, values[control.name], (value) => set(control.name, value), control.label);
      return el('label', { class: 'number' }, el('span', { text: control.label }), said, range);
    },
    // A vector as a row of upright sliders, one for each of its numbers.
    Numbers(control) {
      const each = values[control.name].map((value, i) => {
        const { range, said } = slider(control, value, (moved) => set(control.name, values[control.name].map((old, j) => (j === i ? moved : old))), `${control.label} ${i + 1}`, true);
        return el('span', { class: 'one' }, said, range, el('small', { text: i + 1 }));
      });
      return el('fieldset', { class: 'numbers' }, el('legend', { text: control.label }), ...each);
    },
    Choice(control) {
      const group = id();
      const each = control.choices.map(([value, text]) => {
        const input = el('input', { type: 'radio', name: group, value, onchange: () => set(control.name, value) });
        input.checked = values[control.name] === value;
        return el('label', { class: 'pill' }, input, el('span', { text }));
      });
      return el('fieldset', { class: 'choice' }, el('legend', { text: control.label }), ...each);
    },
    Flag(control) {
      const input = el('input', { type: 'checkbox', onchange: () => set(control.name, input.checked) });
      input.checked = values[control.name];
      return el('label', { class: 'flag' }, input, el('span', { text: control.label }));
    },
    Seed(control) {
      return el('button', { type: 'button', class: 'pg-button', text: control.label, onclick: () => set(control.name, (values[control.name] + 1) % (control.high + 1)) });
    },
    Text(control) {
      const input = el('textarea', { class: 'pg-input', rows: 3, maxlength: control.longest, oninput: () => { if (input.value || control.empty) set(control.name, input.value); } });
      input.value = values[control.name];
      return el('label', { class: 'text' }, el('span', { text: control.label }), input);
    },
  };

  const form = el('form', { class: 'controls', onsubmit: (event) => event.preventDefault() });
  for (const control of controls) {
    const made = KINDS[control.kind](control);
    form.append(made);
    if (control.info) form.append(el('p', { class: 'note', text: control.info }));
  }
  if (controls.length) form.append(el('button', { type: 'button', class: 'pg-button again', text: w.reset, onclick: () => { for (const { name, value } of controls) values[name] = value; changed(true); } }));
  return form;
};
