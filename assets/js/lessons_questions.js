// Predict, then reveal: a guess is made first; what is right was computed from the experiment as it stands.
playground.lessonQuestions = (words) => {
  const { el, fill } = playground;
  const root = el('section', { class: 'questions' });
  let group = 0;

  // `guesses` holds for each question what was chosen and whether it was revealed; it outlives the drawing. While the
  // answers are `pending`, for a training has not ended or not even begun, one may guess, and nothing is revealed.
  function question(asked, guesses, pending) {
    const w = words(), guess = (guesses[asked.name] ??= { chosen: null, revealed: false });
    const verdict = el('p', { class: 'verdict', role: 'status' });
    const reveal = el('button', { type: 'button', class: 'pg-button reveal', text: w.reveal, onclick: () => { guess.revealed = true; show(); } });
    const name = `lesson-question-${++group}`;
    const choices = asked.choices.map(([value, text]) => {
      const input = el('input', { type: 'radio', name, value, onchange: () => { guess.chosen = value; guess.revealed = false; show(); } });
      input.checked = guess.chosen === value;
      return el('label', { class: 'pill', 'data-choice': value }, input, el('span', { text }));
    });
    const field = el('fieldset', { class: 'question', 'data-question': asked.name }, el('legend', { text: asked.asks }), el('div', { class: 'choices-of-one' }, ...choices), reveal, verdict);
    function show() {
      const told = guess.revealed && !pending;
      reveal.disabled = guess.chosen === null || guess.revealed || pending;
      const hit = guess.chosen === asked.right;
      for (const choice of choices) {
        const right = told && choice.dataset.choice === asked.right;
        choice.classList.toggle('right', right);
        choice.classList.toggle('wrong', told && !hit && choice.dataset.choice === guess.chosen);
      }
      const answer = asked.choices.find(([value]) => value === asked.right)?.[1]; // of what is pending there is none
      verdict.textContent = told ? fill(hit ? w.right : w.wrong, { answer, why: asked.why }) : '';
    }
    show();
    return field;
  }

  function draw(questions, guesses, pending) {
    const w = words();
    const held = root.contains(document.activeElement) ? document.activeElement : null;
    const [of, value] = [held?.closest('.question')?.dataset.question, held?.value];
    root.hidden = !questions.length;
    root.setAttribute('aria-label', w.questions);
    const note = pending ? [el('p', { class: 'note', text: w.pending })] : [];
    root.replaceChildren(el('h3', { text: w.questions }), ...note, ...questions.map((each) => question(each, guesses, pending)));
    if (of) root.querySelector(value ? `[data-question=${of}] input[value="${value}"]` : `[data-question=${of}] .reveal`)?.focus({ preventScroll: true });
  }
  return { root, draw };
};
