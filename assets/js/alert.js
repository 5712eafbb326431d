// The last refusal, in the visitor's language; it goes when something succeeds, yet not before one could read it: a token
// that was under way may arrive just after it. A server that is gone, or busy, is told first, then one's place in the line.
playground.alert = (element, props, watch) => {
  const { el, fill, state, on } = playground;
  const root = element.querySelector('.alert');
  const READ = 3000; // milliseconds
  let refusal = playground.read(props), since = -READ, going, trouble = null, place = 0;
  function draw() {
    const w = props.words[state.lang];
    const refused = { lost: w.lost, full: w.full }[trouble] ?? refusal?.[state.lang];
    const said = refused ?? (place ? fill(w.place, { place }) : undefined);
    if (said !== (root.textContent || undefined)) root.replaceChildren(...(said ? [el('p', { text: said, class: refused ? null : 'patience' })] : []));
    return refused;
  }
  on('place', (now) => { place = now; draw(); });
  const tell = () => {
    if (draw()) playground.say('refused');
  };
  function take() {
    const news = playground.read(props), left = since + READ - performance.now();
    if (news?.lost && !playground.again()) return; // asked before the page had arrived, and all of it is on its way
    clearTimeout(going);
    if (!news && refusal && left > 0) { going = setTimeout(take, left); return; }
    if (news) since = performance.now();
    refusal = news;
    tell();
  }
  on('language', draw);
  on('trouble', (now) => { trouble = now; document.documentElement.toggleAttribute('data-trouble', Boolean(now)); tell(); });
  watch('value', take);
  draw();
};
