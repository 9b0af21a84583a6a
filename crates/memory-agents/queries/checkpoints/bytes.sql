SELECT recollect.checkpoint_bytes($1, $2)
