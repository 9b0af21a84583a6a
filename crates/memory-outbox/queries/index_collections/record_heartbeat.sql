-- Records that the collections $1 have a worker, and abandons the second collection if it has had
-- none for $2 seconds: no worker would apply its changes.
WITH seen AS (
    UPDATE recollect.index_collections c
    SET seen_at = clock_timestamp()
    WHERE c.collection = ANY ($1)
)
UPDATE recollect.index_collections c
SET state = 'abandoned', changed_at = clock_timestamp()
WHERE c.state = 'beside' AND c.collection <> ALL ($1) AND c.seen_at < clock_timestamp() - make_interval(secs => $2)
