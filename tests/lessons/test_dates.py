"""The encoder-decoder that rewrites dates: what it reads, where it looks, and how often it is right."""

from datetime import date

import pytest
import torch

from playground.errors import CharacterUnknown, TextEmpty, TooManyCharacters
from playground.lessons.date_forms import FORMS, days, ordinal, written
from playground.lessons.encoder_decoder import (
    ALPHABET,
    CONFIG,
    FOLDER,
    START,
    CrossAttention,
    EncoderDecoder,
    ids,
    read,
    translate,
    translator,
    write,
)

MAY_3 = date(2021, 5, 3)


def test_a_day_is_written_in_every_form_that_can_mean_no_other():
    assert written(MAY_3) == {
        "ordinal_of": "3rd of May 2021",
        "the_ordinal_of": "the 3rd of May 2021",
        "month_day": "May 3, 2021",
        "month_ordinal": "May 3rd, 2021",
        "day_month": "3 May 2021",
        "short_month": "May 3, 2021",
        "dashes": "3-May-2021",
        "short_weekday": "Mon, 3 May 2021",
        "weekday": "Monday, May 3, 2021",
        "year_first": "2021/5/3",
        "dots": "3.5.2021",
        "padded_dots": "03.05.2021",
        "chinese": "2021年5月3日",
    }
    slashes = {name: text for name, text in written(date(2021, 5, 25)).items() if "slash" in name}
    assert slashes == {"day_slash": "25/5/2021", "month_slash": "5/25/2021"}


def test_no_text_means_two_days():
    meant: dict[str, date] = {}
    for day in (
        date(year, month, number) for year in (2004, 2021) for month in range(1, 13) for number in range(1, 29)
    ):
        for text in written(day).values():
            assert meant.setdefault(text, day) == day


def test_ordinals_end_as_english_wants():
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st",
    ]  # fmt: skip


def test_a_tenth_of_all_days_is_held_out_and_none_is_on_both_sides():
    unseen, seen = set(days(held_out=True)), set(days(held_out=False))
    assert (len(unseen), len(seen)) == (7305, 65744)  # 200 years of 73,049 days
    assert not unseen & seen


def test_at_least_99_in_100_held_out_dates_come_out_right_to_the_last_character():
    chosen = list(days(held_out=True))[7::290]
    texts = [(text, day.isoformat()) for day in chosen for text in written(day).values()]
    answers = translate(translator(), [text for text, _ in texts])
    right = sum(answer == expected for answer, (_, expected) in zip(answers, texts, strict=True))
    assert len(texts) > 300
    assert right / len(texts) >= 0.99


def test_step_by_step_writes_what_all_at_once_does():
    texts = list(written(date(1969, 7, 20)).values())
    for text, answer in zip(texts, translate(translator(), texts), strict=True):
        steps = list(write(translator(), read(translator(), text)))
        assert "".join(step.character for step in steps) == answer == "1969-07-20"


def test_every_look_is_a_share_of_one():
    model = translator()
    seen = read(model, "3rd of May 2021")
    L, H, S = CONFIG.n_layers, CONFIG.n_heads, len("3rd of May 2021")
    assert seen.text == "3rd of may 2021"
    assert seen.weights.shape == (L, H, S, S)
    torch.testing.assert_close(seen.weights.sum(-1), torch.ones(L, H, S))
    assert float(seen.weights.triu(1).amax()) > 0.1  # the encoder looks ahead too
    for t, step in enumerate(write(model, seen), 1):
        assert step.own.shape == (L, H, t)  # START and what is written so far: never ahead
        assert step.cross.shape == (L, H, S)
        torch.testing.assert_close(step.own.sum(-1), torch.ones(L, H))
        torch.testing.assert_close(step.cross.sum(-1), torch.ones(L, H))
        torch.testing.assert_close(step.probabilities.sum(), torch.tensor(1.0))


def test_the_alignment_can_be_seen():
    """Writing the year, the decoder's best head looks at the year; writing the day, at the day."""
    text = "3rd of May 2021"
    steps = list(write(translator(), read(translator(), text)))
    year = torch.stack([step.cross for step in steps[:4]])[..., -4:].sum(-1).mean(0)  # (L, H)
    day = torch.stack([step.cross for step in steps[8:]])[..., :3].sum(-1).mean(0)
    assert float(year.amax()) > 0.7
    assert float(day.amax()) > 0.7


def test_cross_attention_is_the_formula():
    """softmax(q kᵀ / sqrt(D)) v, one head after the other, then the projection."""
    torch.manual_seed(0)
    layer, x, memory = CrossAttention(CONFIG), torch.randn(1, 3, 64), torch.randn(1, 5, 64)
    out, weights = layer(x, memory)
    keys, values = layer.kv(memory)[0].split(64, -1)
    mixed = []
    for head in range(4):
        part = slice(16 * head, 16 * head + 16)
        by_hand = torch.softmax(layer.q(x)[0, :, part] @ keys[:, part].T / 4, -1)
        torch.testing.assert_close(weights[0, head], by_hand)
        mixed.append(by_hand @ values[:, part])
    torch.testing.assert_close(out[0], layer.out(torch.cat(mixed, -1)))


def test_the_decoder_never_sees_what_it_has_not_written():
    model, source = EncoderDecoder().eval(), torch.tensor([ids("3 may 2021")])
    target = torch.tensor([[START, 1, 2, 3, 4]])
    changed = torch.tensor([[START, 1, 2, 9, 8]])
    with torch.inference_mode():
        torch.testing.assert_close(model(source, target)[:, :3], model(source, changed)[:, :3], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("text", "error", "values"),
    [
        ("  ", TextEmpty, {}),
        ("3 mai 2021 à", CharacterUnknown, {"value": "à", "alphabet": "a-z 0-9 , . / - 年 月 日"}),
        ("1" * 33, TooManyCharacters, {"characters": 33, "limit": 32}),
    ],
    ids=["empty", "letter outside the alphabet", "too long"],
)
def test_what_it_cannot_read_is_refused_with_the_value_and_the_limit(text, error, values):
    with pytest.raises(error) as refused:
        read(translator(), text)
    assert refused.value.values == values


def test_every_form_fits_and_uses_only_the_alphabet():
    longest = date(2022, 9, 28)  # Wednesday
    for day in (longest, date(2099, 12, 31)):
        assert all(len(ids(text)) <= CONFIG.context_length for text in written(day).values())
    assert set(written(longest)) == set(FORMS)
    assert len(set(ALPHABET)) == len(ALPHABET) == START


def test_the_file_is_small_and_its_card_says_what_made_it():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 1_000_000
    assert "python -m playground.lessons.train_dates" in (FOLDER / "README.md").read_text("utf-8")
