SELECT recollect.release_unwritten($1, $2, $3)
