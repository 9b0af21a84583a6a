# Written by clients/python/unasync from recollect/_async. Change that.
"""The synchronous client."""
