// Lines of our own source as they stand in their file, some of them marked. Text nodes only.
playground.code = (source, title) => {
  const { el, fill } = playground;
  const name = fill(title, { name: source.name, file: source.file, first: source.first, last: source.first + source.lines.length - 1 });
  const lines = source.lines.map((line, i) => {
    const at = source.first + i, comment = line.search(/(^|\s)#/);
    const [before, after] = comment < 0 ? [line, ''] : [line.slice(0, comment), line.slice(comment)];
    return el('span', { class: source.marked.includes(at) ? 'line marked' : 'line', 'data-line': at }, before, el('i', { text: after }), '\n');
  });
  const marked = () => lines.find((line) => line.classList.contains('marked'));
  const pre = el('pre', { class: 'code', tabindex: '0', role: 'region', 'aria-label': name }, ...lines);
  setTimeout(() => { if (marked()) pre.scrollTop = marked().offsetTop - pre.clientHeight / 3; });
  return [el('h4', { class: 'where-code', text: name }), pre];
};
