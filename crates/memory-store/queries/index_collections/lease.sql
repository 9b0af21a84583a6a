UPDATE recollect.index_collections SET leased_until = clock_timestamp() + make_interval(secs => $2)
WHERE number = $1 AND leased_until < clock_timestamp()
