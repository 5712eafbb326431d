"""On the page: LayerNorm of one vector, and LayerNorm beside BatchNorm."""

from playground.figures.lessons.charts import ChartWords, Series, bars
from playground.figures.numbers import brief
from playground.figures.style import ACCENT, BLUES, FEED_FORWARD, GREENS, NORM, RESIDUAL
from playground.gpt import model
from playground.lessons import layer_norm as lesson
from playground.ui.html import Picture

from .view import Question, Shown, View
from .words import YES_NO, words, yes

VECTOR, BATCH = lesson.LESSON.experiments


def draw_vector(found: lesson.Vector, lang: str) -> Shown:
    shown = found.shown
    word = words(lang, "vector")
    stages = (
        ("before", shown.x, RESIDUAL),
        ("normalised", shown.normalised, NORM),
        ("after", shown.after, FEED_FORWARD),
    )
    drawn = bars(
        [str(i + 1) for i in range(len(shown.x))],
        [Series(word(name), values.numpy(), colour) for name, values, colour in stages],
        ChartWords(word("picture"), word("feature"), word("value")),
        Series(word("mean"), shown.mean.numpy(), ACCENT, "dash"),
    )
    count, squares = len(shown.x), (shown.x - shown.mean).square().sum()
    note = word(
        "note", mean=brief(shown.mean, 4), squares=brief(squares, 4),
        divisor=count if found.biased else count - 1, variance=brief(shown.variance, 4),
        root=brief((shown.variance + found.eps).sqrt(), 4), mean_normalised=f"{shown.normalised.mean():z.4f}",
        variance_normalised=f"{shown.normalised.var(correction=0):.4f}",
    )  # fmt: skip
    return Shown({"vector": Picture(drawn, [note])}, [double(found), divisor(found), flat(found)])


def double(found: lesson.Vector) -> Question:
    shown, doubled = found.shown.normalised.abs().max(), found.doubled.normalised.abs().max()
    right = "nearly" if doubled <= 1.01 * shown else "between" if doubled <= 1.99 * shown else "twice"
    values = {"shown": brief(shown, 4), "doubled": brief(doubled, 4), "eps": brief(found.eps)}
    return Question("q_double", ("nearly", "between", "twice"), right, values)


def divisor(found: lesson.Vector) -> Question:
    biased, unbiased = found.over_count.normalised.abs().max(), found.over_one_less.normalised.abs().max()
    right = "closer" if unbiased < biased else "farther" if unbiased > biased else "same"
    values = {"biased": brief(biased, 4), "unbiased": brief(unbiased, 4)}
    return Question("q_divisor", ("closer", "same", "farther"), right, values)


def flat(found: lesson.Vector) -> Question:
    first = found.flat.normalised[0]
    right = "zeros" if not found.flat.normalised.any() else "ones" if first == 1 else "undefined"
    values = {"first": brief(first, 4), "root": brief((found.flat.variance + found.eps).sqrt(), 4)}
    return Question("q_flat", ("ones", "zeros", "undefined"), right, values)


def draw_batch(found: lesson.Batch, lang: str) -> Shown:
    word = words(lang, "batch")
    series = (
        ("layer_alone", found.layer_alone, GREENS[2]),
        ("layer", found.layer, NORM),
        ("batch_alone", found.batch_alone, BLUES[2]),
        ("batch", found.batch, ACCENT),
    )
    token = found.labels[-1]
    drawn = bars(
        [str(feature) for feature in found.features.tolist()],
        [Series(word(name), values.numpy(), colour) for name, values, colour in series],
        ChartWords(word("picture", token=token), word("feature"), word("value")),
    )
    numbers = {"layer": brief(found.layer_moved), "batch": brief(found.batch_moved)}
    note = word("note", yours=found.lengths[0], **numbers)
    return Shown({"batch": Picture(drawn, [note])}, [moves(found), one_word(found), padded(found)])


def moves(found: lesson.Batch) -> Question:
    layer, batch = (difference > 1e-5 for difference in found.others)
    right = {(True, True): "both", (True, False): "layer", (False, True): "batch"}.get((layer, batch), "neither")
    values = {"layer": brief(found.others[0]), "batch": brief(found.others[1])}
    return Question("q_moves", ("layer", "batch", "both", "neither"), right, values)


def one_word(found: lesson.Batch) -> Question:
    most = float(found.one_word.abs().max())
    values = {"token": found.labels[0], "most": brief(most)}
    return Question("q_word", ("zeros", "layer", "unchanged"), "zeros" if most < 1e-3 else "layer", values)


def padded(found: lesson.Batch) -> Question:
    values = {"moved": brief(found.padding_moved), "yours": str(found.lengths[0]), "theirs": str(found.lengths[1])}
    return Question("q_padding", YES_NO, yes(found.padding_moved > 1e-5), values)


VIEWS = (
    View(
        VECTOR,
        draw_vector,
        "layer_norm",
        ((lesson.layer_norm, ("mean", "variance", "normalised")), (model.normalise, ()), (model.LayerNorm.forward, ())),
    ),
    View(
        BATCH,
        draw_batch,
        "batch_norm",
        ((lesson.batch_norm, ("seen", "(mean, variance)")), (model.normalise, ())),
    ),
)
