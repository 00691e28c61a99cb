"""What is wrong, how one sees it, and what to do."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hyperproto._core.files import plain

__all__ = ["Examination", "Finding", "Severity"]

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that is, or may be, wrong with a run.

    Attributes
    ----------
    name : str
        Which finding, such as "collapsed outputs".
    severity : {"error", "warning", "note"}
        An "error" has spoilt the run, a "warning" costs it something, a "note" is worth knowing.
    says : str
        What was seen, in a sentence.
    advice : str
        What to do.
    evidence : dict
        The numbers behind it.
    """

    name: str
    severity: Severity
    says: str
    advice: str
    evidence: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: None for what is not a number."""
        held: dict[str, Any] = plain(asdict(self))
        return held


@dataclass(frozen=True)
class Examination:
    """All findings, what was looked for, and what could not be looked for and why."""

    run: str
    findings: tuple[Finding, ...]
    looked_for: tuple[str, ...]
    not_looked_for: tuple[str, ...] = ()
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        held: dict[str, Any] = plain(asdict(self))
        return held
