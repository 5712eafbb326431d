"""On the page: a grid of small models and the law through them, a calculator, and a grid trained live."""

import math
from collections.abc import Sequence

from playground.figures.follow import Drawing
from playground.figures.lessons.charts import ChartWords, Series, bars, lines
from playground.figures.style import ACCENT, ATTENTION, FEED_FORWARD, NORM, OFF, RESIDUAL
from playground.lessons import scaling
from playground.lessons import scaling_grid as lesson
from playground.text import sentences
from playground.ui.html import Picture

from .view import Asked, Question, Shown, View
from .words import YES_NO, Word, words, yes

GRID, CALCULATOR, SMALL = lesson.LESSON.experiments
EACH_LINE = {"tokens": "of_tokens", "parameters": "of_parameters"}  # words for what a line of the picture shares
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
COLOURS = (ATTENTION, FEED_FORWARD, NORM, OFF, ACCENT)
SIZES = ("small", "middle", "large")
Q_LEAST, Q_HELPED = Asked("q_least", SIZES), Asked("q_helped", YES_NO)


def short(number: float) -> str:
    """1.75e11 -> 175B, as the papers write sizes; from 1e15 on as a power of ten."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if size <= number < 1e15:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def constant(number: float) -> str:
    """A constant of a law: three digits, 0 where it is smaller than any loss we measure."""
    if number < 5e-4 or number >= 1e4:
        return "0" if number < 1 else powers(number)
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def powers(number: float) -> str:
    """3.15e23 -> 3.15 × 10²³."""
    digits, exponent = f"{number:.2e}".split("e")
    return f"{float(digits):g} × 10{str(int(exponent)).translate(SUPERSCRIPT)}"


# The grid.


def draw_grid(found: tuple[lesson.Fitted, str], lang: str) -> Shown:
    (fitted, over), word, results = found, words(lang, "grid"), lesson.shipped()
    assert fitted.law is not None
    law, low, high = fitted.law.law, fitted.law.low, fitted.law.high
    each = zip(law._fields, law, low, high, strict=True)
    ranges = {name: f"{constant(x)} ({constant(least)}–{constant(most)})" for name, x, least, most in each}
    pictures = {
        "grid_points": Picture(
            points(fitted, over, word),
            [
                word(
                    "note",
                    command=results["command"],
                    seconds=results["cpu_seconds"],
                    count=len(fitted.points),
                    least=short(fitted.least),
                )
            ],
        ),
        "grid_exponents": Picture(exponents(fitted, word), [word("law", error=f"{fitted.law.error:.1%}", **ranges)]),
    }
    return Shown(pictures, [doubled(fitted), exponent(fitted), which(fitted)])


def points(fitted: lesson.Fitted, over: str, word: Word) -> Drawing:
    """Measured losses, a line for each amount (or size), and the law for the largest of them."""
    other = "tokens" if over == "parameters" else "parameters"
    series, groups = [], sorted({getattr(point, other) for point in fitted.points})
    for colour, group in zip(COLOURS, groups, strict=False):
        line = sorted((getattr(p, over), p.loss) for p in fitted.points if getattr(p, other) == group)
        series.append(
            Series(
                word(EACH_LINE[other], n=short(group)),
                [loss for _, loss in line],
                colour,
                x=[x for x, _ in line],
                markers=True,
            )
        )
    if fitted.law is not None:
        xs = sorted({getattr(point, over) for point in fitted.points})
        by_law = [
            fitted.law.law.loss(x, groups[-1]) if over == "parameters" else fitted.law.law.loss(groups[-1], x)
            for x in xs
        ]
        series.append(Series(word("by_law"), by_law, RESIDUAL, "dash", x=xs))
    return lines(series, ChartWords(word("picture"), word(over), word("loss")), log="xy")


def exponents(fitted: lesson.Fitted, word: Word) -> Drawing:
    """Ours beside the published ones: straight lines beside Kaplan's, a law with a floor beside Hoffmann's."""
    assert fitted.law is not None
    assert fitted.by_parameters is not None
    assert fitted.by_tokens is not None
    ours = [fitted.by_parameters.exponent, fitted.by_tokens.exponent, fitted.law.law.alpha, fitted.law.law.beta]
    published = [scaling.KAPLAN_N.exponent, scaling.KAPLAN_D.exponent, scaling.HOFFMANN.alpha, scaling.HOFFMANN.beta]
    names = [word(name) for name in ("straight_n", "straight_d", "floor_n", "floor_d")]
    series = [Series(word("ours"), ours, ATTENTION), Series(word("published"), published, RESIDUAL)]
    return bars(names, series, ChartWords(word("exponents"), "", word("exponent")))


def largest(fitted: lesson.Fitted) -> lesson.Point:
    return max(fitted.points, key=lambda point: (point.parameters, point.tokens))


def doubled(fitted: lesson.Fitted) -> Question:
    """By how much the fitted law lets the loss of the largest model fall when its parameters double."""
    assert fitted.law is not None
    at, law = largest(fitted), fitted.law.law
    saved = 1 - law.loss(2 * at.parameters, at.tokens) / law.loss(at.parameters, at.tokens)
    right = min(("half", 0.5), ("fifth", 0.2), ("twentieth", 0.05), key=lambda each: abs(math.log(each[1] / saved)))[0]
    return Question(
        "q_doubled", ("half", "fifth", "twentieth"), right, {"n": short(at.parameters), "saved": f"{saved:.1%}"}
    )


def exponent(fitted: lesson.Fitted) -> Question:
    assert fitted.by_parameters is not None
    ours = fitted.by_parameters
    apart = ours.exponent - scaling.KAPLAN_N.exponent
    right = "equal" if abs(apart) <= 2 * ours.standard_error else "more" if apart > 0 else "less"
    values = {
        "ours": f"{ours.exponent:.3f}",
        "error": f"{ours.standard_error:.3f}",
        "kaplan": f"{scaling.KAPLAN_N.exponent}",
    }
    return Question("q_exponent", ("more", "less", "equal"), right, values)


def which(fitted: lesson.Fitted) -> Question:
    """What would help the largest model more: twice the parameters or twice the text."""
    assert fitted.law is not None
    at, law = largest(fitted), fitted.law.law
    bigger, longer = law.loss(2 * at.parameters, at.tokens), law.loss(at.parameters, 2 * at.tokens)
    values = {"bigger": f"{bigger:.3f}", "longer": f"{longer:.3f}", "now": f"{law.loss(at.parameters, at.tokens):.3f}"}
    return Question("q_which", ("parameters", "tokens"), "parameters" if bigger < longer else "tokens", values)


# The calculator.


def told_costs(found: lesson.Calculated, word: Word) -> tuple[str, str]:
    """What the training asked for costs, and what GPT-3's did under the same assumptions."""
    costs, gpt_3 = found.cost, scaling.cost(*scaling.GPT_3_PAPER, found.gpu, found.utilisation / 100)
    same = {"gpu": found.gpu.upper(), "utilisation": f"{found.utilisation:g}"}
    asked = word(
        "note", parameters=short(found.asked.parameters), tokens=short(found.asked.tokens), flops=powers(costs.flops),
        weights=size_of(costs.weight_bytes), training=size_of(costs.training_bytes), hours=f"{costs.gpu_hours:,.0f}",
        peak=f"{scaling.GPUS[found.gpu] / 1e12:.0f}", years=f"{costs.gpu_hours / 24 / 365.25:,.1f}", **same,
    )  # fmt: skip
    return asked, word("gpt_3_note", flops=powers(gpt_3.flops), hours=f"{gpt_3.gpu_hours:,.0f}", **same)


def draw_calculator(found: lesson.Calculated, lang: str) -> Shown:
    word = words(lang, "calculator")
    colours = {"hoffmann": ATTENTION, "besiroglu": NORM}
    curves = [Series(word(name), losses, colours[name], x=found.sizes) for name, losses in found.losses.items()]
    here = Series(word("here"), [found.loss], OFF, x=[found.asked.parameters], markers=True)
    best = Series(word("best"), [scaling.HOFFMANN.loss(*found.best)], ACCENT, x=[found.best.parameters], markers=True)
    rule = Series(
        word("rule"), [scaling.HOFFMANN.loss(*found.rule)], FEED_FORWARD, x=[found.rule.parameters], markers=True
    )
    chart = lines([*curves, here, best, rule], ChartWords(word("picture"), word("parameters"), word("loss")), log="x")
    budgets = {"best": found.best, "refitted": found.refitted, "rule": found.rule}
    told = {f"{name}_n": short(each.parameters) for name, each in budgets.items()}
    told |= {f"{name}_d": short(each.tokens) for name, each in budgets.items()}
    budget_note = word("budget_note", **told)
    budget = bars(
        [word(f"{name}_name") for name in ("asked", *budgets)],
        [
            Series(
                word("ratio"), [each.tokens / each.parameters for each in (found.asked, *budgets.values())], ATTENTION
            )
        ],
        ChartWords(word("ratios"), "", word("ratio")),
    )
    pictures = {
        "calculator_curve": Picture(chart, [sentences(lang, *told_costs(found, word))]),
        "calculator_ratio": Picture(budget, [budget_note]),
    }
    return Shown(pictures, [hungry(found), hours(found)])


def size_of(count: float) -> str:
    """Units: bytes"""
    for size, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"


def hungry(found: lesson.Calculated) -> Question:
    """Whether the model asked for has too little text for its size, by the rule of twenty, within a tenth."""
    ratio = found.cost.tokens_per_parameter / scaling.TOKENS_PER_PARAMETER
    right = "more" if ratio < 0.9 else "less" if ratio > 1.1 else "about"
    values = {
        "ratio": f"{found.cost.tokens_per_parameter:.3g}",
        "n": short(found.rule.parameters),
        "d": short(found.rule.tokens),
    }
    return Question("q_hungry", ("more", "less", "about"), right, values)


def hours(found: lesson.Calculated) -> Question:
    """What twice the parameters at the rule's tokens per parameter cost: both N and D double."""
    once, twice = (scaling.training_flops(n, scaling.TOKENS_PER_PARAMETER * n) for n in (1e9, 2e9))
    right = min(("two", 2.0), ("four", 4.0), ("eight", 8.0), key=lambda each: abs(each[1] - twice / once))[0]
    return Question("q_hours", ("two", "four", "eight"), right, {"once": powers(once), "twice": powers(twice)})


# The live grid.


def draw_small(found: lesson.Fitted, lang: str) -> Shown:
    word, told = words(lang, "small_grid"), words(lang, "grid")
    notes = [final(found, word)] if found.training is None else [running(found, word)]
    chart = (
        points(found, "tokens", told)
        if found.points
        else lines([], ChartWords(told("picture"), told("tokens"), told("loss")))
    )
    return Shown({"small_grid": Picture(chart, notes)}, questions(found.points) if found.training is None else [])


def final(found: lesson.Fitted, word: Word) -> str:
    assert found.law is not None
    return word("note", count=len(found.points), beta=f"{found.law.law.beta:.2f}", error=f"{found.law.error:.1%}")


def running(found: lesson.Fitted, word: Word) -> str:
    assert found.training is not None
    width, amount, step, loss = found.training
    return word("running", width=width, amount=short(amount), step=step, loss=f"{loss:.2f}")


def questions(found: Sequence[lesson.Point]) -> list[Question]:
    """Whether the largest model was best with the least text, and whether more text always helped."""
    least, most = min(p.tokens for p in found), max(p.tokens for p in found)
    firsts = {p.width: p.loss for p in found if p.tokens == least}
    lasts = {p.width: p.loss for p in found if p.tokens == most}
    best = min(firsts, key=lambda width: firsts[width])
    names = dict(zip(sorted(firsts), SIZES, strict=True))
    values = {names[width]: f"{loss:.2f}" for width, loss in firsts.items()}
    helped = all(lasts[width] < firsts[width] for width in firsts)
    return [
        Question(*Q_LEAST, names[best], values),
        Question(*Q_HELPED, yes(helped), {names[width]: f"{loss:.2f}" for width, loss in lasts.items()}),
    ]


VIEWS = (
    View(
        GRID,
        draw_grid,
        "scaling_law",
        (
            (scaling.Law.loss, ()),
            (scaling.fit, ("fitted", "residuals", "dealt")),
            (scaling.power_law, ("slope", "error")),
        ),
    ),
    View(
        CALCULATOR,
        draw_calculator,
        "flops",
        (
            (scaling.training_flops, ()),
            (scaling.cost, ("flops", "hours")),
            (scaling.Law.optimum, ("ratio", "parameters")),
        ),
    ),
    View(
        SMALL,
        draw_small,
        "scaling_law",
        ((lesson.sweep, ("(config, steps)", "model", "parameters")),),
        asks=(Q_LEAST, Q_HELPED),
    ),
)
