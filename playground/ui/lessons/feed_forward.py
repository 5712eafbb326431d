"""On the page: activations as curves, units that die, widening by 4."""

from collections.abc import Callable

from torch import Tensor

from playground.figures.lessons.charts import ChartWords, Series, bars, lines
from playground.figures.style import ACCENT, ATTENTION, FEED_FORWARD, OFF, RESIDUAL
from playground.gpt import model
from playground.lessons import feed_forward as lesson
from playground.ui.html import Picture

from .view import Asked, Question, Shown, View
from .words import YES_NO, words, yes

ACTIVATION, DEAD, WIDEN = lesson.LESSON.experiments
COLOURS = {"gelu": FEED_FORWARD, "tanh": ACCENT, "relu": RESIDUAL}
DASHES = {"gelu": "solid", "tanh": "dot", "relu": "solid"}
Q_MORE, Q_REVIVED = Asked("q_more", ("relu", "gelu", "alike")), Asked("q_revived", YES_NO)


def draw_curves(found: lesson.Curves, lang: str) -> Shown:
    word = words(lang, "activation")

    def chart(title: str, curves: dict[str, Tensor], points: dict[str, float]) -> Picture:
        series = [
            Series(word(name), curves[name][::8].numpy(), COLOURS[name], DASHES[name]) for name in lesson.ACTIVATIONS
        ]
        at = [points[name] for name in lesson.ACTIVATIONS]
        here = Series(word("here"), at, OFF, x=[found.at] * len(at), markers=True)
        numbers = {name: f"{points[name]:z.4f}" for name in lesson.ACTIVATIONS}
        note = word(f"{title}_note", at=f"{found.at:g}", **numbers)
        return Picture(
            lines([*series, here], ChartWords(word(title), "x", word("value")), found.x[::8].numpy()), [note]
        )

    pictures = {
        "activation_values": chart("values", found.values, found.value_at),
        "activation_slopes": chart("slopes", found.slopes, found.slope_at),
    }
    return Shown(pictures, [learns(found), lowest(found), apart(found)])


def learns(found: lesson.Curves) -> Question:
    relu, gelu = (abs(found.slope_at[name]) > 1e-6 for name in ("relu", "gelu"))
    right = {(True, True): "both", (True, False): "relu", (False, True): "gelu"}.get((relu, gelu), "neither")
    values = {"at": f"{found.at:g}", "relu": f"{found.slope_at['relu']:z.4f}", "gelu": f"{found.slope_at['gelu']:z.4f}"}
    return Question("q_learns", ("relu", "gelu", "both", "neither"), right, values)


def lowest(found: lesson.Curves) -> Question:
    places = {"left": -4.0, "middle": -0.75, "zero": 0.0}
    right = min(places, key=lambda name: abs(places[name] - found.lowest))
    values = {"lowest": f"{found.lowest:.2f}", "least": f"{found.values['gelu'].min():.3f}"}
    return Question("q_lowest", tuple(places), right, values)


def apart(found: lesson.Curves) -> Question:
    right = "tenth" if found.apart > 0.02 else "thousandth" if found.apart > 1e-6 else "rounding"
    return Question("q_apart", ("tenth", "thousandth", "rounding"), right, {"apart": f"{found.apart:.5f}"})


def draw_dead(found: lesson.DeadUnits, lang: str) -> Shown:
    word = words(lang, "dead_units")
    relu, gelu = found.by["relu"], found.by["gelu"]

    def chart(title: str, of: Callable[[lesson.Trained], list[float]]) -> Picture:
        series = [Series(word(name), of(each), COLOURS[name]) for name, each in found.by.items()]
        drawn = lines(series, ChartWords(word(title), word("step"), word(f"{title}_axis")), found.steps)
        numbers = {name: of(each)[-1] for name, each in found.by.items()}
        shown = {name: f"{value:.1%}" if title == "share" else f"{value:.4f}" for name, value in numbers.items()}
        return Picture(drawn, [word(f"{title}_note", step=found.steps[-1], **shown)])

    more = "relu" if relu.dead[-1] > gelu.dead[-1] else "gelu" if gelu.dead[-1] > relu.dead[-1] else "alike"
    values = {"relu": f"{relu.dead[-1]:.1%}", "gelu": f"{gelu.dead[-1]:.1%}"}
    revived = {"revived": str(relu.revived), "dead": str(int(relu.silent.sum()))}
    questions = [
        Question(*Q_MORE, more, values),
        Question(*Q_REVIVED, yes(relu.revived > 0), revived),
    ]
    pictures = {
        "dead_share": chart("share", lambda each: each.dead),
        "dead_loss": chart("loss", lambda each: each.loss),
    }
    return Shown(pictures, questions)


def draw_widen(found: lesson.Widths, lang: str) -> Shown:
    word = words(lang, "widen")
    names = [word("times", factor=factor) for factor in found.factors]
    series = [Series(word("bent"), found.bent, FEED_FORWARD), Series(word("straight"), found.straight, RESIDUAL)]
    error = bars(names, series, ChartWords(word("picture"), word("width_axis"), word("error")))
    parts = bars(
        [word("attention"), word("feed_forward")],
        [Series(word("parameters"), [found.attention, found.feed_forward], ATTENTION)],
        ChartWords(word("parts", factor=found.chosen), "", word("parameters")),
    )
    at = found.factors.index(found.chosen)
    numbers = {"bent": f"{found.bent[at]:.3f}", "straight": f"{found.straight[at]:.3f}"}
    ratio = found.feed_forward / found.attention
    counts = {"feed_forward": f"{found.feed_forward:,}", "attention": f"{found.attention:,}", "ratio": f"{ratio:.2f}"}
    pictures = {
        "widen_error": Picture(error, [word("note", factor=found.chosen, **numbers)]),
        "widen_parts": Picture(parts, [word("parts_note", factor=found.chosen, **counts)]),
    }
    return Shown(pictures, [still_helps(found), share(found)])


def still_helps(found: lesson.Widths) -> Question:
    """Taken as a help: an error smaller by more than a hundredth."""
    helped = found.straight[-1] < found.straight[0] - 0.01
    values = {"first": f"{found.straight[0]:.3f}", "last": f"{found.straight[-1]:.3f}"}
    bent = {"bent_first": f"{found.bent[0]:.3f}", "bent_last": f"{found.bent[-1]:.3f}"}
    return Question("q_linear", YES_NO, yes(helped), values | bent)


def share(found: lesson.Widths) -> Question:
    feed_forward, attention = found.gpt2
    places = {"half": 0.5, "equal": 1.0, "twice": 2.0, "four": 4.0}
    right = min(places, key=lambda name: abs(places[name] - feed_forward / attention))
    values = {"feed_forward": f"{feed_forward:,}", "attention": f"{attention:,}"}
    return Question("q_share", tuple(places), right, values)


VIEWS = (
    View(
        ACTIVATION, draw_curves, "gelu", ((model.gelu, ()), (lesson.gelu_exact, ()), (lesson.gradient, ("(slope,)",)))
    ),
    View(
        DEAD,
        draw_dead,
        "dead_units",
        ((lesson.is_dead, ()), (lesson.descend, ("loss", "gradients"))),
        asks=(Q_MORE, Q_REVIVED),
    ),
    View(
        WIDEN,
        draw_widen,
        "feed_forward",
        ((model.FeedForward, ("hidden", "active", "out")), (lesson.parameters, ()), (lesson.readout_error, ())),
    ),
)
