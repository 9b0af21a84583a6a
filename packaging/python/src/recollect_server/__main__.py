"""`python -m recollect_server` is `recollect`."""

from recollect_server import main

main()
