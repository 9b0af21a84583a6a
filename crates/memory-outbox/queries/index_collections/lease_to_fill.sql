-- Claims a collection to queue everything for it, or extends the claim if $3.
UPDATE recollect.index_collections SET leased_until = clock_timestamp() + make_interval(secs => $2)
WHERE number = $1 AND state IN ('serving', 'beside') AND ($3 OR leased_until < clock_timestamp())
