"""On the page: a training from nothing, its loss beside what simpler knowledge costs, and what it writes."""

import math

from playground.figures.follow import Drawing
from playground.figures.lessons.charts import ChartWords, Series, lines
from playground.figures.style import ACCENT, ATTENTION, FEED_FORWARD, NORM, RESIDUAL
from playground.gpt import train
from playground.lessons import gibberish as lesson
from playground.ui.html import Picture

from .view import Asked, Question, Shown, Stage, View
from .words import Word, recent, words

(GROW,) = lesson.LESSON.experiments
LEVELS = {"nothing": RESIDUAL, "letters": NORM, "pairs": FEED_FORWARD}  # and their colours
RECENT = 10  # steps
ALIKE = 0.05  # nats within which two losses count as the same
Q_START = Asked("q_start", tuple(LEVELS))
Q_BEATEN = Asked("q_beaten", ("early", "middle", "late", "never"))
Q_GAP = Asked("q_gap", ("training", "held_out", "alike"))


def draw(found: lesson.Grown, lang: str) -> Shown:
    word = words(lang, "grow")
    stages = [Stage(each.step, told(each, found, word), each.written) for each in found.stages]
    first, last = found.stages[0], found.stages[-1]
    note = word("note", parameters=f"{found.parameters:,}", step=last.step, held_out=f"{last.held_out:.2f}",
                sure=f"{math.exp(last.held_out):.1f}")  # fmt: skip
    complete = last.step == found.steps  # before, the answers would change under who reads them
    questions = [start(first, found.levels), beaten(found), gap(found)] if complete else []
    return Shown({"grow_loss": Picture(curve(found, word), [note])}, questions, stages=stages)


def told(stage: lesson.Stage, found: lesson.Grown, word: Word) -> str:
    return word("stage", step=stage.step, steps=found.steps, held_out=f"{stage.held_out:.3f}")


def curve(found: lesson.Grown, word: Word) -> Drawing:
    """Every step's loss, the held-out loss at each checkpoint, and three levels to compare with."""
    steps = range(1, len(found.losses) + 1)
    marks, held_out = [each.step for each in found.stages], [each.held_out for each in found.stages]
    series = [
        Series(word("training"), found.losses, ATTENTION, x=steps),
        Series(word("held_out"), held_out, ACCENT, "dot", marks, markers=True),
    ]
    for name, colour in LEVELS.items():
        level = [getattr(found.levels, name)] * 2
        series.append(Series(word(f"level_{name}"), level, colour, "dash", [0, max(1, len(found.losses))]))
    return lines(series, ChartWords(word("picture"), word("step"), word("loss")))


def start(first: lesson.Stage, levels: lesson.Levels) -> Question:
    """What an untrained model pays: which of the levels is nearest to the measured loss."""
    near = {name: abs(first.held_out - getattr(levels, name)) for name in LEVELS}
    values = {"held_out": f"{first.held_out:.3f}", "nothing": f"{levels.nothing:.3f}"}
    return Question(*Q_START, min(near, key=lambda name: near[name]), values)


def beaten(found: lesson.Grown) -> Question:
    """At which checkpoint the held-out loss is first below that of who knows the pairs of letters."""
    below = [stage for stage in found.stages if stage.held_out < found.levels.pairs]
    stage = below[0] if below else found.stages[-1]
    share = stage.step / found.steps
    right = "never" if not below else "early" if share <= 1 / 5 else "middle" if share <= 1 / 2 else "late"
    values = {"pairs": f"{found.levels.pairs:.2f}", "step": str(stage.step), "held_out": f"{stage.held_out:.2f}"}
    return Question(*Q_BEATEN, right, values)


def gap(found: lesson.Grown) -> Question:
    """Whether what it was trained on costs less than what it never saw."""
    trained, unseen = recent(found.losses, RECENT), found.stages[-1].held_out
    right = "alike" if abs(trained - unseen) <= ALIKE else "training" if trained < unseen else "held_out"
    return Question(*Q_GAP, right, {"trained": f"{trained:.2f}", "unseen": f"{unseen:.2f}"})


VIEWS = (
    View(
        GROW,
        draw,
        "next_token_loss",
        ((train.train, ("logits", "loss")), (lesson.levels, ("pairs",))),
        asks=(Q_START, Q_BEATEN, Q_GAP),
        parameters=lambda size, **_: lesson.config_of(size).n_parameters,
    ),
)
