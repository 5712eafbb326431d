"""On the page: gradients through the depth, a short training of each kind of block, and what a block holds."""

import math

from playground.figures.lessons.charts import ChartWords, Series, bars, lines
from playground.figures.numbers import brief
from playground.figures.style import ACCENT, FEED_FORWARD, NORM, OFF, RESIDUAL
from playground.gpt import model
from playground.lessons import residuals as lesson
from playground.ui.html import Picture

from .view import Asked, Question, Shown, View
from .words import YES_NO, recent, words, yes

GRADIENTS, RACE, BLOCK = lesson.LESSON.experiments
COLOURS = {"pre": NORM, "post": ACCENT, "without": FEED_FORWARD, "bare": OFF}
DASHES = {"pre": "solid", "post": "solid", "without": "dash", "bare": "dot"}
RECENT = 10  # steps
Q_BEST, Q_WITHOUT = Asked("q_best", lesson.KINDS), Asked("q_without", YES_NO)
GUESSING = math.log(lesson.SYMBOLS)  # nats, when all symbols are equally likely


def draw_gradients(found: lesson.Gradients, lang: str) -> Shown:
    word = words(lang, "gradients")
    depth = len(found.norms["pre"])

    def chart(title: str, by: dict[str, list[float]], first: int) -> Picture:
        series = [Series(word(kind), by[kind], COLOURS[kind], DASHES[kind]) for kind in lesson.KINDS]
        drawn = lines(
            series, ChartWords(word(title), word("block"), word(f"{title}_axis")), range(first, depth + 1), "y"
        )
        ratios = {kind: brief(by[kind][0] / by[kind][-1]) for kind in lesson.KINDS}
        ends = {kind: brief(by[kind][-1]) for kind in lesson.KINDS}
        return Picture(drawn, [word(f"{title}_note", **(ratios if title == "norms" else ends))])

    pictures = {"gradient_norms": chart("norms", found.norms, 1), "gradient_sizes": chart("sizes", found.sizes, 0)}
    return Shown(pictures, [vanishes(found), normed(found), stream(found)])


def vanishes(found: lesson.Gradients) -> Question:
    first, last = found.norms["bare"][0], found.norms["bare"][-1]
    shrunk = last / first
    right = "million" if shrunk > 1e6 else "smaller" if shrunk > 10 else "alike"
    values = {"depth": str(len(found.norms["bare"])), "first": brief(first), "last": brief(last)}
    return Question("q_vanishes", ("alike", "smaller", "million"), right, values)


def normed(found: lesson.Gradients) -> Question:
    first, last = found.norms["without"][0], found.norms["without"][-1]
    values = {"first": brief(first), "last": brief(last)}
    return Question("q_normed", YES_NO, yes(first < last / 10), values)


def stream(found: lesson.Gradients) -> Question:
    pre, post = found.sizes["pre"][-1], found.sizes["post"][-1]
    right = "alike" if math.isclose(pre, post, rel_tol=0.05) else "pre" if pre > post else "post"
    return Question("q_stream", ("pre", "post", "alike"), right, {"pre": f"{pre:.2f}", "post": f"{post:.2f}"})


def draw_race(found: lesson.Race, lang: str) -> Shown:
    word = words(lang, "race")
    steps = range(1, found.steps + 1)
    series = [Series(word(kind), found.loss[kind], COLOURS[kind], DASHES[kind]) for kind in lesson.KINDS]
    level = Series(word("guessing"), [GUESSING] * len(steps), RESIDUAL, "dot")
    drawn = lines([*series, level], ChartWords(word("picture"), word("step"), word("loss")), steps)
    ends = {kind: recent(found.loss[kind], RECENT) for kind in lesson.KINDS}
    shown = {kind: f"{loss:.3f}" for kind, loss in ends.items()} | {"step": str(found.steps)}
    best = min(ends, key=lambda kind: ends[kind])
    learned = ends["without"] < 0.9 * GUESSING
    questions = [
        Question(*Q_BEST, best, shown),
        Question(*Q_WITHOUT, yes(learned), shown | {"guessing": f"{GUESSING:.3f}"}),
    ]
    return Shown(
        {"race_loss": Picture(drawn, [word("note", depth=found.depth, recent=min(RECENT, found.steps), **shown)])},
        questions,
    )


def draw_block(found: lesson.Block, lang: str) -> Shown:
    word = words(lang, "block")
    drawn = bars(
        [word(part) for part in lesson.PARTS],
        [Series(word("parameters"), list(found.parts.values()), ACCENT)],
        ChartWords(word("picture"), "", word("parameters")),
    )
    note = word("note", total=f"{found.total:,}", **{part: f"{n:,}" for part, n in found.parts.items()})
    printed = {"notes": f"{found.notes:,}", "printed": f"{lesson.PRINTED:,}", "hidden": f"{found.hidden_needed:.1f}"}
    places = {"ours": 49_984, "printed": lesson.PRINTED}
    right = min(places, key=lambda name: abs(places[name] - found.notes))
    counts = {"post": f"{found.total:,}", "pre": f"{found.pre_norm:,}"}
    questions = [
        Question("q_total", tuple(places), right, printed),
        Question("q_order", YES_NO, yes(found.total == found.pre_norm), counts),
    ]
    return Shown({"block_parts": Picture(drawn, [note])}, questions)


VIEWS = (
    View(
        GRADIENTS,
        draw_gradients,
        "residual",
        (
            (model.TransformerBlock.forward, ("middle", "after")),
            (lesson.PostNormBlock.forward, ("(middle, _)", "thought", "after")),
            (lesson.gradients, ("streams",)),
        ),
    ),
    View(
        RACE,
        draw_race,
        "race",
        ((lesson.Stack.streams, ("x",)), (lesson.again, ("targets",)), (lesson.race, ("now", "adam"))),
        asks=(Q_BEST, Q_WITHOUT),
    ),
    View(BLOCK, draw_block, "block", ((lesson.PostNormBlock, ("(middle, _)", "thought", "after")),)),
)
