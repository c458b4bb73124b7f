# SPDX-License-Identifier: Apache-2.0
"""What a run is: the commands, how its end is judged, and what came of it."""
import re
from dataclasses import dataclass, field
from typing import Callable, Optional

PASSED, FAILED, SKIPPED, REFUSED = "passed", "failed", "skipped", "refused"


@dataclass
class Outcome:
    """What the processes left: exit status and text by name ("server", "client", or "program"), captures by name."""
    status: dict = field(default_factory=dict)
    text: dict = field(default_factory=dict)
    capture: dict = field(default_factory=dict)
    folder: str = ""

    def all_text(self):
        return "\n".join(self.text.values())


@dataclass
class Case:
    """One line of the table. `{port}` in a command is a free TCP port, `{folder}` the run's own folder."""
    program: str
    package: str
    what: str
    client: list                               # the program, or the client of a pair
    server: Optional[list] = None
    env: dict = field(default_factory=dict)    # beside softnic's own settings
    softnic: dict = field(default_factory=dict)  # SOFTNIC_* settings of this run
    ready: str = "port"                        # when the client may start: "port", or a text that the server prints
    # check(outcome) -> (reason or None, figure): exit statuses are judged before
    check: Optional[Callable] = None
    before: Optional[Callable] = None          # before(folder): files that the run wants
    # What softnic does not carry: the program has to end by itself and its text has to match.
    refusal: Optional[str] = None
    # A race of the program's own at its end: status 255 with these words is a good end, and `check` judges what was done.
    pardon: Optional[str] = None
    capture: bool = False
    needs: tuple = ()                          # programs beside these, as (name, Debian package)
    limit: float = 60.0                        # a hang guard, not a measure
    quick: bool = False                        # in the short subset that CTest runs
    group: str = ""

    def name(self):
        return f"{self.program} {self.what}"


@dataclass
class Result:
    case: Case
    status: str
    reason: str = ""
    figure: str = ""
    seconds: float = 0.0


def last_words(text, lines=1):
    """The last lines of a program's text that say something."""
    said = [line.strip() for line in text.splitlines() if re.search(r"[A-Za-z0-9]", line)]
    return " / ".join(said[-lines:])[:200]
