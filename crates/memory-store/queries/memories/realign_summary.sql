SELECT recollect.realign_summary($1, $2, $3, $4)
