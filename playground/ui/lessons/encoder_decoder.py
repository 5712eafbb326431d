"""On the page: the encoder-decoder rewrites a date, and one sees where it looks."""

from torch import Tensor

from playground.figures.follow import Drawing
from playground.figures.lessons.charts import ChartWords, Series, bars, heat
from playground.figures.style import ATTENTION
from playground.lessons import encoder_decoder as lesson
from playground.ui.html import Picture

from .view import Question, Shown, View
from .words import Word, words

(DECODE,) = lesson.LESSON.experiments
CANDIDATES = 6


def visible(text: str) -> list[str]:
    return ["·" if character == " " else character for character in text]


def draw_decode(found: lesson.Decoded, lang: str) -> Shown:
    word = words(lang, "decode")
    source, target = visible(found.text), list(found.written)
    before = [word("start"), *target[:-1]]

    def looks(name: str, values: Tensor, rows: list[str], columns: list[str]) -> Drawing:
        chart = ChartWords(word(name), word(f"{name}_columns"), word(f"{name}_rows"))
        return heat(values.numpy(), rows, columns, chart, word("weight"), height=150 + 24 * len(rows))

    most = int(found.cross[found.step - 1].argmax())
    own = int(found.own[found.step - 1].nan_to_num().argmax())
    numbers = {"step": found.step, "character": found.written[found.step - 1]}
    pictures = {
        "decode_next": next_character(found, word),
        "decode_cross": Picture(
            looks("cross", found.cross, target, source),
            [word("cross_note", looked=source[most], share=f"{found.cross[found.step - 1, most]:.0%}", **numbers)],
        ),
        "decode_own": Picture(
            looks("own", found.own, target, before),
            [word("own_note", looked=before[own], share=f"{found.own[found.step - 1, own]:.0%}", **numbers)],
        ),
        "decode_encoder": Picture(
            looks("encoder", found.encoder, source, source), [word("encoder_note", share=f"{found.ahead[0]:.0%}")]
        ),
    }
    return Shown(pictures, [ahead(found), where(found, source), no_day(found)])


def next_character(found: lesson.Decoded, word: Word) -> Picture:
    values, tokens = found.probabilities.topk(CANDIDATES)
    names = visible("".join(lesson.ALPHABET[i] for i in tokens.tolist()))
    title = word("picture", step=found.step)
    chart = bars(names, [Series(word("probability"), values.numpy(), ATTENTION)], ChartWords(title, word("next"), ""))
    trained = lesson.training()
    told = word(
        "next_note",
        text=found.text,
        written=found.written[: found.step],
        right=f"{trained['held_out_right']['all']:.1%}",
        command=trained["command"],
    )
    return Picture(chart, [told])


def ahead(found: lesson.Decoded) -> Question:
    encoder, own = (share > 1e-6 for share in found.ahead)
    right = {(True, True): "both", (True, False): "encoder", (False, True): "decoder"}.get((encoder, own), "neither")
    values = {"encoder": f"{found.ahead[0]:.1%}", "decoder": f"{found.ahead[1]:.1%}"}
    return Question("q_ahead", ("encoder", "decoder", "both", "neither"), right, values)


def where(found: lesson.Decoded, source: list[str]) -> Question:
    """In which third of the input the decoder looks most, writing the first character."""
    thirds = ("beginning", "middle", "end")
    most = int(found.cross[0].argmax())
    values = {"character": found.written[0], "looked": source[most], "place": str(most + 1)}
    return Question("q_where", thirds, thirds[3 * most // len(source)], values)


def no_day(found: lesson.Decoded) -> Question:
    right = (
        "copies"
        if found.no_day == "2021-02-31"
        else "real"
        if found.no_day[:8] in ("2021-02-", "2021-03-")
        else "other"
    )
    return Question("q_no_day", ("copies", "real", "other"), right, {"text": lesson.NO_DAY, "answer": found.no_day})


VIEWS = (
    View(
        DECODE,
        draw_decode,
        "cross_attention",
        (
            (lesson.CrossAttention, ("q", "(k, v)", "weights")),
            (lesson.DecoderBlock.forward, ("(attended, record)", "(crossed, cross_weights)")),
            (lesson.write, ("best",)),
        ),
    ),
)
