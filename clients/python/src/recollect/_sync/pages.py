# Written by clients/python/unasync from recollect/_async. Change that.
"""Lists, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def pages(call: Any, request: Any, timeout: float | None) -> Iterator[Any]:
    """Calls with the request until there is no next page."""
    while True:
        page = call(request, timeout=timeout)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token
