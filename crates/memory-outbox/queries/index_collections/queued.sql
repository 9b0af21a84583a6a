-- Records whether everything stored has been queued for a collection.
UPDATE recollect.index_collections SET queued_at = CASE WHEN $2 THEN clock_timestamp() END
WHERE number = $1 AND state IN ('serving', 'beside')
