UPDATE recollect.index_collections SET leased_until = clock_timestamp() + make_interval(secs => $2)
WHERE number = $1 AND leased_until < clock_timestamp()
    -- Another worker may have emptied it since it was listed.
    AND (NOT emptied OR state = 'retired')
