SELECT recollect.turn_summary($1, $2, $3)
