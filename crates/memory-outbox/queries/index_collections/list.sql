SELECT c.number, c.collection, c.state, c.queued, c.complete, c.pending, c.lag_seconds, c.dead_letters
FROM recollect.list_collections() AS c
