SELECT recollect.is_clearing($1, $2)
