"""The Lessons tab: one component for all lessons; each lesson's part of the tab says what it draws and asks.

A lesson is

1. `playground/lessons/<lesson>.py`: what its experiments compute, and LESSON, entered in playground.lessons.LESSONS;
2. here `<lesson>.py`: VIEWS, one for each experiment, its module entered in tab.SHOWN at the same place;
3. `playground/text/lesson_<experiment>.toml` for each experiment: `about` (paragraphs at line breaks), the label of
   every control by its name and of every choice as `<control>_<choice>`, its questions, whatever its pictures say; and
   `title_<lesson>`, `title_<experiment>` in lessons.toml;
4. `assets/formulas/<formula>.mathml`.

The address `?tab=lessons&lesson=<lesson>&part=<experiment>` and the tests that walk all lessons follow from the table.
"""
