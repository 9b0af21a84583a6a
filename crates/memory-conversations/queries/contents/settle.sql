SELECT recollect.settle_contents($1, $2, $3)
