SELECT c.place, c.deleted_count, c.remaining_count FROM recollect.count_erased($1, $2) AS c
