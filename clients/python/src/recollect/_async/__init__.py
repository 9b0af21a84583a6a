"""The asynchronous client. clients/python/unasync writes recollect/_sync from it."""
