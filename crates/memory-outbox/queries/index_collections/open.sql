SELECT recollect.open_collections($1, $2)
