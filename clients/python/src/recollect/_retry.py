"""When a failed call is made again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from recollect.errors import invalid


@dataclass(frozen=True)
class Retry:
    """How calls are repeated.

    A call is repeated if the server does not answer (`UNAVAILABLE`) and the call may run
    twice: a read, or a write with a request id or with the same result each time. A call that
    was never sent, because there was no connection, and one that the server refused with the
    delay to wait (`RESOURCE_EXHAUSTED`) did nothing and are always repeated. No call is repeated
    beyond its timeout.

    The pause before a repetition doubles each time and is shortened at random by up to half.
    If the server names a delay, the pause is that delay and up to a quarter more.
    """

    attempts: int = 7
    """The maximum number of calls, the first one included: 1 or more. 1 repeats nothing."""
    initial: float = 0.1
    """The first pause in seconds."""
    maximum: float = 5.0
    """The longest pause in seconds, unless the server names a longer one."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise invalid("Retry.attempts", "must be 1 or more")
        if self.initial < 0 or self.maximum < 0:
            raise invalid("Retry.initial and Retry.maximum", "must not be negative")

    def failures(self, before: int, code: str, lasted: float) -> int:
        """How many streams in a row failed, with one that ended with this code after these seconds.
        One that had worked does not count."""
        # Without a deadline of the client, it is the server that ends a stream which works, or a
        # proxy. A second allows for connecting.
        worked = code == "DEADLINE_EXCEEDED" or lasted > max(self.maximum, 1.0)
        return 0 if worked else before + 1

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """The pause in seconds after the failed attempt of this number, from 1."""
        if retry_after is not None:
            return retry_after * random.uniform(1.0, 1.25)
        longest: float = min(self.maximum, self.initial * 2.0 ** (attempt - 1))
        return longest * random.uniform(0.5, 1.0)
