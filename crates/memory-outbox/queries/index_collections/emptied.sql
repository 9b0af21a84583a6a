UPDATE recollect.index_collections SET emptied = true, leased_until = '-infinity' WHERE number = $1
