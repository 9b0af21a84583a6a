UPDATE recollect.index_collections SET leased_until = '-infinity' WHERE number = $1
