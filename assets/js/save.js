// Every figure may be taken home: as a picture, or as the numbers it was drawn from.
playground.save = (root, name) => {
  const { el, state, download } = playground;
  const words = () => playground.given.save({}).words[state.lang];
  const FORMATS = ['png', 'svg', 'csv'];

  // The names that an axis gives to its numbers, for every one of them and not only those that are written.
  function named(axis, value) {
    const told = root.layout[axis] ?? {};
    if (told.labelalias && value in told.labelalias) return told.labelalias[value];
    const at = (told.tickvals ?? []).indexOf(value);
    return at >= 0 && told.ticktext ? told.ticktext[at] : value;
  }

  // Figures hold texts in the form that plotly shows literally: see `literal` in playground/figures/style.py.
  const plain = (text) => text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(code));
  // A table program takes a cell that begins like this for a formula; behind an apostrophe it is text.
  const safe = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  function cell(value) {
    if (typeof value === 'number') return Number.isNaN(value) ? '' : String(value);
    return value === null || value === undefined ? '' : `"${safe(plain(String(value))).replaceAll('"', '""')}"`;
  }

  // One line for each number drawn, with all its digits: series, what x and y mean there, and the value of a cell.
  function csv() {
    const lines = [['series', 'x', 'x name', 'y', 'y name', 'value'].join(',')];
    for (const trace of root._fullData.filter((each) => each.visible === true)) {
      const [xaxis, yaxis] = [trace.xaxis ?? 'x', trace.yaxis ?? 'y'].map((id) => `${id[0]}axis${id.slice(1)}`);
      const put = (x, y, value) => lines.push([trace.name, x, named(xaxis, x), y, named(yaxis, y), value].map(cell).join(','));
      if (trace.z) Array.from(trace.z).forEach((row, i) => Array.from(row).forEach((value, j) => { if (!Number.isNaN(value)) put(trace.x?.[j] ?? j, trace.y?.[i] ?? i, trace.customdata?.[i]?.[j] ?? value); }));
      else Array.from(trace.x ?? trace.y ?? []).forEach((_, i) => put(trace.x?.[i] ?? i, trace.y?.[i] ?? i, null));
    }
    return lines.join('\r\n');
  }

  async function take(format) {
    const file = `${name}-${state.at}.${format}`;
    if (format === 'csv') {
      const url = URL.createObjectURL(new Blob(['\ufeff', csv()], { type: 'text/csv;charset=utf-8' }));
      download(url, file);
      URL.revokeObjectURL(url);
      return;
    }
    const paper = getComputedStyle(document.body).getPropertyValue('--pg-card').trim();
    const { width, height } = root.getBoundingClientRect();
    const layout = { ...root.layout, paper_bgcolor: paper };
    download(await Plotly.toImage({ data: root.data, layout }, { format, width, height, scale: format === 'png' ? 2 : 1 }), file);
  }

  const summary = el('summary', {});
  const choices = el('div', { class: 'formats', role: 'group' });
  const menu = el('details', { class: 'save' }, summary, choices);
  function label() {
    const w = words();
    summary.setAttribute('aria-label', w.save);
    summary.title = w.save;
    choices.setAttribute('aria-label', w.save);
    choices.replaceChildren(...FORMATS.map((format) => el('button', { type: 'button', text: format.toUpperCase(), title: w[`save_${format}`], 'aria-label': w[`save_${format}`],
      onclick: () => { menu.open = false; take(format); } })));
  }
  playground.on('language', label);
  menu.addEventListener('keydown', (event) => { if (event.key === 'Escape') { menu.open = false; summary.focus(); } });
  label();
  return menu;
};
