"""Stories made from a few forms and word lists: enough to learn spelling, words and turns of phrase from in a minute.

No two draws are alike for long, yet all share one small vocabulary, so that what a model has learned shows at once.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Literal

Language = Literal["en", "zh"]

WORDS: dict[Language, Mapping[str, Sequence[str]]] = {
    "en": {
        "who": ("Tom", "Lily", "Ben", "Mia", "Sam", "Anna"),
        "animal": ("cat", "dog", "bird", "fox", "rabbit", "bear", "frog"),
        "kind": ("little", "big", "happy", "kind", "brave", "funny"),
        "thing": ("ball", "box", "hat", "boat", "cake", "book", "kite"),
        "colour": ("red", "blue", "green", "yellow", "white"),
        "place": ("park", "garden", "forest", "house", "river", "school"),
        "feeling": ("happy", "sad", "proud", "glad", "sleepy"),
        "weather": ("sunny", "rainy", "windy", "warm", "cold"),
    },
    "zh": {
        "who": ("小明", "小红", "丽丽", "乐乐"),
        "animal": ("小猫", "小狗", "小鸟", "小兔", "小熊"),
        "kind": ("可爱的", "快乐的", "勇敢的"),
        "thing": ("个红球", "只风筝", "辆小车", "条小船"),
        "place": ("公园", "花园", "河边", "山上"),
        "feeling": ("高兴", "难过", "开心"),
        "weather": ("晴天", "雨天", "冷天"),
    },
}
BEGINNINGS: dict[Language, Sequence[str]] = {
    "en": (
        "Once upon a time there was a {kind} {animal}.",
        "One day {who} went to the {place}.",
        "It was a {weather} day.",
        "{who} had a {kind} {animal} and a {colour} {thing}.",
    ),
    "zh": ("从前有一只{kind}{animal}。", "有一天，{who}去{place}玩。", "今天是{weather}。"),
}
MIDDLES: dict[Language, Sequence[str]] = {
    "en": (
        "The {animal} saw a {colour} {thing} in the {place}.",
        "{who} and the {animal} played with the {thing}.",
        '"Do you want to play with me?" said {who}.',
        '"Yes, I like your {colour} {thing}," said the {animal}.',
        "They ran to the {place} and looked for the {thing}.",
        "The {thing} was {colour} and the {animal} was {feeling}.",
        "{who} gave the {thing} to the {kind} {animal}.",
    ),
    "zh": (
        "{animal}看见一{thing}。",
        "{who}和{animal}一起玩那{thing}。",
        "{who}说：“我们去{place}吧。”",
        "{animal}把那{thing}给了{who}。",
    ),
}
ENDINGS: dict[Language, Sequence[str]] = {
    "en": ("They were very {feeling}.", "Then they all went home.", "{who} was {feeling} and said thank you."),
    "zh": ("大家都很{feeling}。", "他们一起回家了。"),
}
SENTENCES_BETWEEN = 2, 4  # fewest and most


def story(rng: random.Random, lang: Language) -> str:
    """A beginning, a few sentences and an ending; one child, one animal and one thing all through."""
    words = {name: rng.choice(choices) for name, choices in WORDS[lang].items()}
    told = [rng.choice(BEGINNINGS[lang])]
    told += rng.sample(MIDDLES[lang], rng.randint(*SENTENCES_BETWEEN))
    told.append(rng.choice(ENDINGS[lang]))
    return (" " if lang == "en" else "").join(told).format(**words)


def stories(lang: Language, characters: int, seed: int) -> str:
    """Stories, one a paragraph, until they are `characters` long. Units: characters"""
    rng, told, length = random.Random(seed), [], 0
    while length < characters:
        told.append(story(rng, lang) + "\n\n")
        length += len(told[-1])
    return "".join(told)
