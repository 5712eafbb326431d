"""The section of the residual tab that shows how far the switches reach."""

from playground.analysis.reach import reach, relative_changes
from playground.figures.follow import nothing
from playground.figures.numbers import brief
from playground.figures.reach import ReachWords, reach_map
from playground.text import say

from .components import figure
from .html import Picture
from .places import places
from .wiring import Look, Wiring, explanation


def draw_reach(look: Look, is_open: bool) -> Picture | None:
    if not is_open:
        return None
    lang, labels, config = look.lang, look.run.labels, look.run.model.config
    if not look.is_ablated:
        return Picture(nothing(len(labels)), [say(lang, "reach.nothing")] * len(labels))
    changes = relative_changes(look.run.trace, look.base.trace)
    within = reach(look.request.ablation, config, len(labels))
    names = places(look)
    words = ReachWords(**{name: say(lang, f"reach.{name}") for name in ("title", "place", "token", "change")})
    drawn = reach_map(changes.numpy(), within.numpy(), names, labels, words, len(labels) - 1)
    outside = brief(float(changes.masked_fill(within, 0).max()), 3)
    notes = []
    for i, (token, column, seen) in enumerate(zip(labels, changes.T, within.T, strict=True)):
        told = {"token": token, "at": look.run.start + i}
        if not seen.any():
            notes.append(say(lang, "reach.note_outside", **told, outside=outside))
            continue
        first, most = int(seen.int().argmax()), int(column.argmax())
        shares = {"begin": column[first], "high": column[most], "last": column[-1]}
        shown = {name: f"{brief(100 * float(share), 3)}%" for name, share in shares.items()}
        notes.append(say(lang, "reach.note", **told, first=names[first], most=names[most], **shown))
    return Picture(drawn, notes)


def section(wiring: Wiring, tab: str) -> None:
    """Build the section inside the tab that is being built."""
    with wiring.section("reach.section", "reach") as is_open:
        picture = figure("reach-map")
        explanation(wiring, "reach.help")
    wiring.show(tab, draw_reach, picture, [is_open])
