"""On the page: costs over length by formula, times by the clock, and gradients over a distance."""

import math
from collections.abc import Callable

from playground.figures.follow import Drawing
from playground.figures.lessons.charts import ChartWords, Series, bars, lines
from playground.figures.numbers import brief
from playground.figures.style import ATTENTION, FEED_FORWARD, NORM, OFF, RESIDUAL
from playground.gpt import config, model
from playground.lessons import recurrent
from playground.lessons import transformer_rnn as lesson
from playground.ui.html import Picture

from .scaling import short
from .view import Asked, Question, Shown, View
from .words import YES_NO, Word, words, yes

COUNTS, TIMES, REACH = lesson.LESSON.experiments
COLOURS = {"block": ATTENTION, "rnn": FEED_FORWARD, "lstm": NORM}
DASHES = {"block": "solid", "rnn": "solid", "lstm": "dash"}  # RNN and LSTM may lie on one another
TIMES_AS_LONG = {"one": 1.0, "four": 4.0, "sixteen": 16.0, "square": 256.0}
Q_FIRST, Q_LONGER = Asked("q_first", ("block", "rnn", "alike")), Asked("q_longer", tuple(TIMES_AS_LONG))
Q_GROWS = Asked("q_grows", ("block", "rnn", "both", "neither"))


def nearest(number: float, places: dict[str, float]) -> str:
    """The name of the place that is nearest by ratio."""
    return min(places, key=lambda name: abs(math.log(number / places[name])))


# Costs by formula.


def draw_counts(found: lesson.Counts, lang: str) -> Shown:
    word = words(lang, "counts")
    parameters = [found.here[kind].parameters for kind in lesson.KINDS]
    held = bars(
        [word(kind) for kind in lesson.KINDS],
        [Series(word("parameters"), parameters, ATTENTION)],
        ChartWords(word("parameters_picture", width=found.width), "", word("parameters")),
    )
    exact = {kind: f"{n:,}" for kind, n in zip(lesson.KINDS, parameters, strict=True)}
    pictures = {
        "counts_lines": Picture(over_length(found, word), [told(found, word)]),
        "counts_parameters": Picture(held, [word("parameters_note", **exact)]),
    }
    return Shown(pictures, [crossing(found), twice(found), keeps(found)])


def over_length(found: lesson.Counts, word: Word) -> Drawing:
    """The chosen cost of each kind over length; for one token also the part that looks back."""

    def of(costs: lesson.Costs) -> int:
        value: int = getattr(costs, found.shown)
        return value

    series = [
        Series(word(kind), [of(each) for each in found.over[kind]], COLOURS[kind], DASHES[kind])
        for kind in lesson.KINDS
    ]
    if found.shown == "token":
        looking = [each.looking for each in found.over["block"]]
        series.append(Series(word("looking"), looking, ATTENTION, "dot"))
    here = [of(found.here[kind]) for kind in lesson.KINDS]
    series.append(Series(word("here"), here, OFF, x=[found.length] * len(here), markers=True))
    axes = ChartWords(word(f"{found.shown}_picture", width=found.width), word("length"), word(f"{found.shown}_axis"))
    return lines(series, axes, found.lengths, "xy")


def told(found: lesson.Counts, word: Word) -> str:
    """All costs at the chosen length."""
    each = [
        word(
            "costs", kind=word(kind), token=short(costs.token), sequence=short(costs.sequence), kept=f"{costs.kept:,}",
            path=f"{costs.path:,}", sequential=f"{costs.sequential:,}",
        )
        for kind, costs in found.here.items()
    ]  # fmt: skip
    return word("note", length=f"{found.length:,}", width=found.width, costs="\n".join(each))


def crossing(found: lesson.Counts) -> Question:
    """The paper's own: self-attention is cheaper than recurrence while the text is shorter than the width."""
    C = found.width
    places = {"quarter": C / 4, "width": float(C), "six": 6.0 * C}
    return Question("q_crossing", tuple(places), nearest(found.crossing, places), {"at": f"{found.crossing:,}"})


def twice(found: lesson.Counts) -> Question:
    """For the block's reading at the chosen length: from 2 (all work is the weights') to 4 (all is looking)."""
    ratio = found.twice.sequence / found.here["block"].sequence
    right = "two" if ratio < 2.5 else "four" if ratio > 3.5 else "between"
    values = {"length": f"{found.length:,}", "double": f"{2 * found.length:,}", "ratio": f"{ratio:.2f}"}
    return Question("q_twice", ("two", "between", "four"), right, values)


def keeps(found: lesson.Counts) -> Question:
    block, rnn = found.here["block"].kept, found.here["rnn"].kept
    places = {"length": float(found.length), "double": 2.0 * found.length, "square": float(found.length) ** 2}
    values = {"length": f"{found.length:,}", "block": f"{block:,}", "rnn": f"{rnn:,}"}
    return Question("q_keeps", tuple(places), nearest(block / rnn, places), values)


# Times by the clock.


def draw_times(found: lesson.Times, lang: str) -> Shown:
    word, pictures = words(lang, "times"), {}
    if found.read:
        pictures["times_read"] = Picture(read_times(found, word), [read_note(found, word)])
        pictures["times_rate"] = Picture(rates(found, word), [rate_note(found, word)])
    if found.write:
        pictures["times_write"] = Picture(write_times(found, word), [write_note(found, word)])
    return Shown(pictures, [first(found), longer(found), grows(found)] if found.complete else [])


def over(lengths: lesson.Fastest, word: Word, of: Callable[[str, int], float]) -> list[Series]:
    """A line for each kind, `of(kind, length)` at each length that was measured."""
    return [
        Series(word(kind), [of(kind, n) for n in lengths], COLOURS[kind], x=list(lengths), markers=True)
        for kind in lesson.KINDS
    ]


def read_times(found: lesson.Times, word: Word) -> Drawing:
    measured = over(found.read, word, lambda kind, n: 1e3 * found.read[n][kind])
    formula = [
        Series(
            word("by_formula", kind=word(kind)), [1e3 * each for each in found.by_formula(kind)], COLOURS[kind], "dot",
            x=list(found.read),
        )
        for kind in lesson.KINDS
    ]  # fmt: skip
    return lines(
        [*measured, *formula], ChartWords(word("read", width=found.width), word("length"), word("ms")), log="xy"
    )


def rates(found: lesson.Times, word: Word) -> Drawing:
    series = over(found.read, word, lambda kind, n: found.rate(kind, n) / 1e9)
    return lines(series, ChartWords(word("rate"), word("length"), word("gflops")), log="xy")


def write_times(found: lesson.Times, word: Word) -> Drawing:
    series = over(found.write, word, lambda kind, n: 1e3 * found.write[n][kind])
    return lines(series, ChartWords(word("write", width=found.width), word("past"), word("ms")), log="xy")


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}"


def read_note(found: lesson.Times, word: Word) -> str:
    length = max(found.read)
    took = {kind: milliseconds(found.read[length][kind]) for kind in lesson.KINDS}
    return word("read_note", length=f"{length:,}", threads=found.threads, **took)


def rate_note(found: lesson.Times, word: Word) -> str:
    length = max(found.read)
    return word("rate_note", length=f"{length:,}", **{kind: giga(found, kind, length) for kind in lesson.KINDS})


def giga(found: lesson.Times, kind: str, length: int) -> str:
    """Units: 10⁹ FLOPs per second"""
    return brief(found.rate(kind, length) / 1e9)


def write_note(found: lesson.Times, word: Word) -> str:
    least, most = min(found.write), max(found.write)
    ends = {f"{kind}_{name}": milliseconds(found.write[n][kind]) for kind in lesson.KINDS for name, n in ends_of(found)}
    return word("write_note", least=f"{least:,}", most=f"{most:,}", **ends)


def ends_of(found: lesson.Times) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("first", min(found.write)), ("last", max(found.write))


def first(found: lesson.Times) -> Question:
    """Who has read the longest text first; within a quarter is alike, since a busy machine makes as much."""
    length = max(found.read)
    block, rnn = found.read[length]["block"], found.read[length]["rnn"]
    right = "alike" if max(block, rnn) < 1.25 * min(block, rnn) else "block" if block < rnn else "rnn"
    work = {kind: lesson.costs(kind, found.width, length).sequence for kind in ("block", "rnn")}
    values = {
        "length": f"{length:,}", "more": f"{work['block'] / work['rnn']:.0f}", "block": milliseconds(block),
        "rnn": milliseconds(rnn), "block_rate": giga(found, "block", length), "rnn_rate": giga(found, "rnn", length),
    }  # fmt: skip
    return Question(*Q_FIRST, right, values)


def longer(found: lesson.Times) -> Question:
    """What a text 16 times as long does to the RNN."""
    short_text, long_text = 64, 64 * 16  # as its question says
    before, after = found.read[short_text]["rnn"], found.read[long_text]["rnn"]
    values = {
        "short": f"{short_text}", "long": f"{long_text:,}", "steps": f"{long_text // short_text}",
        "before": milliseconds(before), "after": milliseconds(after), "ratio": f"{after / before:.1f}",
    }  # fmt: skip
    return Question(*Q_LONGER, nearest(after / before, TIMES_AS_LONG), values)


def grows(found: lesson.Times) -> Question:
    """Whose next token takes longer after a long text: by more than a half, since less may be noise."""
    (_, least), (_, most) = ends_of(found)
    block, rnn = (found.write[most][kind] / found.write[least][kind] for kind in ("block", "rnn"))
    right = {(True, True): "both", (True, False): "block", (False, True): "rnn"}.get(
        (block > 1.5, rnn > 1.5), "neither"
    )
    values = {"least": f"{least:,}", "most": f"{most:,}", "block_times": f"{block:.1f}", "rnn_times": f"{rnn:.1f}"}
    return Question(*Q_GROWS, right, values)


# Gradients over a distance.


def draw_reach(found: lesson.Reach, lang: str) -> Shown:
    word = words(lang, "reach")
    series = [Series(word(kind), found.norms[kind], COLOURS[kind]) for kind in lesson.KINDS]
    if found.radius <= 1:  # beyond, the bound leaves the picture and says nothing
        series.append(Series(word("bound"), found.bound, RESIDUAL, "dot"))
    far = len(found.bound) - 1
    drawn = lines(series, ChartWords(word("picture"), word("distance"), word("gradient")), range(far + 1), "y")
    factors = [found.per_step(kind) for kind in lesson.KINDS]
    steps = bars(
        [word(kind) for kind in lesson.KINDS],
        [Series(word("factor"), factors, ATTENTION)],
        ChartWords(word("steps"), "", word("factor")),
        Series(word("unchanged"), 1.0, RESIDUAL, "dot"),
    )
    ends = {
        f"{kind}_{name}": brief(found.norms[kind][at])
        for kind in lesson.KINDS
        for name, at in (("near", 1), ("far", far))
    }
    shown = {kind: f"{factor:.3f}" for kind, factor in zip(lesson.KINDS, factors, strict=True)}
    pictures = {
        "reach_lines": Picture(drawn, [word("note", far=far, **ends)]),
        "reach_steps": Picture(steps, [word("steps_note", **shown)]),
    }
    return Shown(pictures, [farthest(found), fades(found), exactly_one(found)])


def farthest(found: lesson.Reach) -> Question:
    last = {kind: norms[-1] for kind, norms in found.norms.items()}
    values = {kind: brief(norm) for kind, norm in last.items()} | {"far": str(len(found.bound) - 1)}
    return Question("q_farthest", lesson.KINDS, max(last, key=lambda kind: last[kind]), values)


def fades(found: lesson.Reach) -> Question:
    near, far = found.norms["rnn"][1], found.norms["rnn"][-1]
    right = "grows" if far > 10 * near else "fades" if far < near / 10 else "alike"
    values = {"far": str(len(found.bound) - 1), "near_norm": brief(near), "far_norm": brief(far)}
    return Question("q_fades", ("fades", "alike", "grows"), right, values)


def exactly_one(found: lesson.Reach) -> Question:
    near, far = found.at_one[1], found.at_one[-1]
    values = {"far": str(len(found.bound) - 1), "near_norm": brief(near), "far_norm": brief(far)}
    return Question("q_one", YES_NO, yes(far > near / 2), values)


VIEWS = (
    View(
        COUNTS,
        draw_counts,
        "work",
        (
            (lesson.block_costs, ("(token, sequence)",)),
            (lesson.recurrent_costs, ("token",)),
            (config.forward_flops, ("projections", "looking")),
            (recurrent.RNN, ("h",)),
            (recurrent.LSTM, ("(i, f, g, o)", "c", "h")),
        ),
    ),
    View(
        TIMES,
        draw_times,
        "reading",
        (
            (recurrent.Recurrent.forward, ("state",)),
            (model.MultiHeadAttention.forward, ("mixed",)),
            (lesson.clocked, ("began",)),
            (lesson.Times.by_formula, ("rate",)),
        ),
        asks=(Q_FIRST, Q_LONGER, Q_GROWS),
    ),
    View(
        REACH,
        draw_reach,
        "path",
        ((lesson.reach, ("last", "(gradient,)", "norms")), (lesson.random_rnn, ()), (lesson.random_lstm, ())),
    ),
)
