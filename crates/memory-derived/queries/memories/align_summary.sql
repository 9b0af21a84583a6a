SELECT recollect.align_summary($1, $2, $3)
