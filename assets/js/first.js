// What must be there before Gradio's own scripts: the page arrives with it (see ui/http.py).
(() => {
  // Gradio's loading screen goes on counting and turning, in every frame, long after it is gone, and a browser that
  // draws sixty times a second is never at rest: whoever has asked for frame after frame for so long gets four a second.
  const RESTLESS = 3000, PAUSE = 200, SELDOM = 250; // milliseconds
  const frame = window.requestAnimationFrame.bind(window);
  const known = new Map(); // by their code: since when they ask without a pause, and until when they have none
  window.requestAnimationFrame = (draw) => {
    const now = performance.now(), code = String(draw), before = known.get(code);
    const since = now < before?.due + PAUSE ? before.since : now, seldom = now > since + RESTLESS;
    known.set(code, { since, due: seldom ? now + SELDOM : now });
    return seldom ? -setTimeout(frame, SELDOM, draw) : frame(draw);
  };
  window.requestAnimationFrame.plain = frame; // for who asks often, but each time for a reason
  const cancel = window.cancelAnimationFrame.bind(window);
  window.cancelAnimationFrame = (asked) => (asked < 0 ? clearTimeout(-asked) : cancel(asked));
})();
