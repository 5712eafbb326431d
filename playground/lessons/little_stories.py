"""What the assistant is taught with: facts, questions about them, and story endings, all put together from word lists.

Every word of the lists is one token of storyteller's, so texts of one kind are equally long and need no padding. What
stands in the lists of new words and endings is never trained on.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["where", "what", "color", "who"]
KINDS: tuple[Kind, ...] = ("where", "what", "color", "who")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words a fact may be made of."""

    names: tuple[str, ...]
    places: tuple[str, ...]
    colors: tuple[str, ...]
    things: tuple[str, ...]


TAUGHT = Vocabulary(
    ("Tom", "Lily", "Tim", "Anna", "Ben", "Mia", "Sam", "Sara"),
    ("park", "garden", "house", "forest", "kitchen"),
    ("red", "blue", "green", "yellow", "pink"),
    ("ball", "hat", "cup", "box", "car", "doll", "book", "kite", "boat", "bag"),
)
NEW = Vocabulary(
    ("Max", "Lucy", "Jack", "Sue"),
    ("school", "yard", "barn"),
    ("white", "black", "brown"),
    ("drum", "shell", "truck", "flower", "bear"),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Somebody is somewhere and has something."""

    name: str
    place: str
    color: str
    thing: str

    @property
    def text(self) -> str:
        return f"{self.name} is in the {self.place}. {self.name} has a {self.color} {self.thing}."

    @property
    def loss(self) -> str:
        """How a story begins: somebody lost it."""
        return f"{self.name} was in the {self.place}. {self.name} lost a {self.color} {self.thing}."


@dataclass(frozen=True, slots=True)
class Pair:
    """A question about a fact and its answer."""

    kind: Kind
    fact: Fact
    asks: str
    answer: str
    word: str  # of the answer, the one that was asked for
    sentence: str  # the question as a sentence to be completed: what comes next is `word`

    @property
    def prompt(self) -> str:
        return f"{self.fact.text}\nQ: {self.asks}\nA:"

    @property
    def begun(self) -> str:
        return f"{self.fact.text} {self.sentence}"


def pair(fact: Fact, kind: Kind) -> Pair:
    name, place, color, thing = fact.name, fact.place, fact.color, fact.thing
    asks, answer, word, sentence = {
        "where": (f"Where is {name}?", f"In the {place}.", place, f"{name} is in the"),
        "what": (f"What does {name} have?", f"A {color} {thing}.", thing, f"{name} has a {color}"),
        "color": (f"What color is the {thing}?", f"It is {color}.", color, f"{name} has a"),
        "who": (f"Who has the {thing}?", f"{name} has the {thing}.", name, f"The {thing} belongs to"),
    }[kind]
    return Pair(kind, fact, asks, " " + answer, word, sentence)


def held_out(fact: Fact) -> bool:
    """Whether a combination of taught words is never trained on; a fifth of them are."""
    places = (
        TAUGHT.names.index(fact.name),
        TAUGHT.places.index(fact.place),
        TAUGHT.colors.index(fact.color),
        TAUGHT.things.index(fact.thing),
    )
    return sum(places) % 5 == 0


def facts(count: int, seed: int, kind: Literal["taught", "combinations", "words"] = "taught") -> list[Fact]:
    """To be trained on; of taught words in combinations held out; or of words that are new."""
    rng, made = random.Random(f"{kind} {seed}"), list[Fact]()
    words = NEW if kind == "words" else TAUGHT
    while len(made) < count:
        fact = Fact(*(rng.choice(each) for each in (words.names, words.places, words.colors, words.things)))
        if kind == "words" or held_out(fact) == (kind == "combinations"):
            made.append(fact)
    return made


def pairs(some: Sequence[Fact]) -> list[Pair]:
    """One question about each, the kinds in turn."""
    return [pair(fact, KINDS[i % len(KINDS)]) for i, fact in enumerate(some)]


# How stories may end; {name} is filled in. Those of the second lists are never trained on.

HAPPY = (
    "{name} was very happy.",
    "{name} smiled and hugged Mom.",
    "{name} laughed and played all day.",
    "It was the best day ever.",
    "{name} and Mom danced with joy.",
    "{name} had a lot of fun.",
    "{name} felt proud and safe.",
    "Everyone loved {name}.",
)
SAD = (
    "{name} was very sad.",
    "{name} cried and ran away.",
    "{name} got hurt and felt bad.",
    "It was the worst day ever.",
    "{name} and Mom were angry.",
    "{name} was lost and alone.",
    "{name} felt scared and sick.",
    "Nobody liked {name}.",
)
NEW_HAPPY = (
    "{name} was so glad.",
    "{name} clapped and cheered.",
    "{name} had a wonderful party.",
    "{name} and Mom sang a nice song.",
    "{name} won a prize.",
    "They became good friends.",
)
NEW_SAD = (
    "{name} was very upset.",
    "{name} fell down and broke a leg.",
    "{name} had a terrible day.",
    "{name} and Mom yelled at the dog.",
    "{name} lost the game.",
    "They never played again.",
)
# A cruder judge: it counts words.
HAPPY_WORDS = frozenset(
    {"happy", "happily", "glad", "smile", "smiled", "laugh", "laughed", "fun", "love", "loved"}
    | {"hug", "hugged", "joy", "best", "nice", "good", "great", "friends"}
)
SAD_WORDS = frozenset(
    {"sad", "cry", "cried", "hurt", "bad", "angry", "mad", "lost", "alone", "scared"}
    | {"afraid", "upset", "sorry", "worst", "broke"}
)


@dataclass(frozen=True, slots=True)
class Preference:
    """One story with two endings: `chosen` is the one that was liked better."""

    chosen: str
    rejected: str


def preferences(count: int, seed: int, new: bool = False) -> list[Preference]:
    """Happy endings liked better than sad ones, each pair after one beginning; of `new` endings, about new words."""
    rng = random.Random(f"endings {new} {seed}")
    happy, sad = (NEW_HAPPY, NEW_SAD) if new else (HAPPY, SAD)
    made = []
    for fact in facts(count, seed, "words" if new else "taught"):
        chosen, rejected = (rng.choice(each).format(name=fact.name) for each in (happy, sad))
        made.append(Preference(f"{fact.loss} {chosen}", f"{fact.loss} {rejected}"))
    return made
