DELETE FROM recollect.index_collections WHERE number = $1 AND state = 'retired'
