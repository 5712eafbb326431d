"""On the page: trained short, read long."""

import torch

from playground.figures.follow import Drawing
from playground.figures.lessons.charts import ChartWords, Series, bars, lines
from playground.figures.style import ATTENTION, FEED_FORWARD, NORM, OFF, RESIDUAL
from playground.lessons import extrapolation as lesson
from playground.lessons import position_encodings as encodings
from playground.ui.html import Picture

from .view import Asked, Question, Shown, View
from .words import YES_NO, Word, words, yes

LONGER, LIVE = lesson.LESSON.experiments
COLOURS = {"none": RESIDUAL, "learned": OFF, "sinusoidal": FEED_FORWARD, "rope": ATTENTION, "alibi": NORM}
BROKEN = 0.1  # nats by which a loss must rise to count as broken
Q_WORST, Q_WITHIN = Asked("q_worst", lesson.KINDS), Asked("q_within", ("learned", "alibi", "equal"))


def draw_shipped(found: lesson.Extrapolated, lang: str) -> Shown:
    word, results = words(lang, "longer"), lesson.shipped()
    told = word("note", command=results["command"], seconds=results["cpu_seconds"], length=found.length)
    pictures = {
        "longer_lines": Picture(by_position(found, word), [told]),
        "longer_bars": Picture(by_multiple(found, word), [numbers(found, word)]),
    }
    return Shown(pictures, [worst(found), best(found), sines(found)])


def by_position(found: lesson.Extrapolated, word: Word) -> Drawing:
    """Loss over position, a mean of `smooth` neighbours, and where training ended."""
    means = {kind: torch.tensor(losses).view(-1, found.smooth).mean(1) for kind, losses in found.losses.items()}
    total = lesson.LONGER * found.length
    x = torch.arange(total).float().view(-1, found.smooth).mean(1).numpy()
    series = [Series(word(kind), each.numpy(), COLOURS[kind], x=x) for kind, each in means.items()]
    everything = torch.cat(list(means.values())) if means else torch.tensor([0.0, 1.0])
    edge = Series(
        word("trained"), [float(everything.min()), float(everything.max())], RESIDUAL, "dot", [found.length] * 2
    )
    return lines([*series, edge], ChartWords(word("by_position"), word("position"), word("loss")))


def by_multiple(found: lesson.Extrapolated, word: Word) -> Drawing:
    names = [word("times", n=n) for n in range(1, lesson.LONGER + 1)]
    series = [Series(word(kind), lesson.by_multiple(losses), COLOURS[kind]) for kind, losses in found.losses.items()]
    return bars(names, series, ChartWords(word("by_multiple"), word("part"), word("loss")))


def numbers(found: lesson.Extrapolated, word: Word) -> str:
    ends = {kind: lesson.by_multiple(losses) for kind, losses in found.losses.items()}
    told = [
        word("from_to", kind=word(kind), first=f"{each[0]:.2f}", last=f"{each[-1]:.2f}") for kind, each in ends.items()
    ]
    return " · ".join(told)


def rises(found: lesson.Extrapolated) -> dict[str, tuple[float, float]]:
    """Mean loss within the trained length and in the last part, by kind."""
    return {
        kind: (parts[0], parts[-1]) for kind, parts in ((k, lesson.by_multiple(v)) for k, v in found.losses.items())
    }


def worst(found: lesson.Extrapolated) -> Question:
    last = {kind: ends[1] for kind, ends in rises(found).items()}
    right = max(last, key=lambda kind: last[kind])
    return Question("q_worst", lesson.KINDS, right, {kind: f"{loss:.2f}" for kind, loss in last.items()})


def best(found: lesson.Extrapolated) -> Question:
    last = {kind: ends[1] for kind, ends in rises(found).items()}
    right = min(last, key=lambda kind: last[kind])
    return Question("q_best", lesson.KINDS, right, {kind: f"{loss:.2f}" for kind, loss in last.items()})


def sines(found: lesson.Extrapolated) -> Question:
    first, last = rises(found)["sinusoidal"]
    return Question("q_sines", YES_NO, yes(last <= first + BROKEN), {"first": f"{first:.2f}", "last": f"{last:.2f}"})


def draw_live(found: lesson.Extrapolated, lang: str) -> Shown:
    word, told = words(lang, "longer_live"), words(lang, "longer")
    kind, step, loss = found.training or ("none", 0, 0.0)
    notes = [
        word("note", kind=told(kind), step=step, loss=f"{loss:.2f}", done=len(found.losses), all=len(lesson.KINDS))
    ]
    pictures = {"longer_live_lines": Picture(by_position(found, told), notes)}
    if found.losses:
        pictures["longer_live_bars"] = Picture(by_multiple(found, told), [numbers(found, told)])
    complete = len(found.losses) == len(lesson.KINDS)
    return Shown(pictures, [live_worst(found), live_better(found)] if complete else [])


def live_worst(found: lesson.Extrapolated) -> Question:
    rise = {kind: last - first for kind, (first, last) in rises(found).items()}
    right = max(rise, key=lambda kind: rise[kind])
    return Question(*Q_WORST, right, {kind: f"{value:+.2f}" for kind, value in rise.items()})


def live_better(found: lesson.Extrapolated) -> Question:
    learned, alibi = (rises(found)[kind][0] for kind in ("learned", "alibi"))
    right = "learned" if learned < alibi - 0.01 else "alibi" if alibi < learned - 0.01 else "equal"
    return Question(*Q_WITHIN, right, {"learned": f"{learned:.2f}", "alibi": f"{alibi:.2f}"})


VIEWS = (
    View(
        LONGER,
        draw_shipped,
        "longer",
        (
            (lesson.PositionedAttention.forward, ("added", "mixed")),
            (encodings.slopes, ()),
            (encodings.alibi, ("back", "bias")),
            (encodings.rope, ("(sine, cosine)", "turned")),
        ),
    ),
    View(
        LIVE,
        draw_live,
        "longer",
        ((lesson.experiment, ()), (lesson.PositionedGPT, ("table",))),
        asks=(Q_WORST, Q_WITHIN),
    ),
)
