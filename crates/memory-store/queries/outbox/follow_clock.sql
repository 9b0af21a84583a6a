SELECT f.seconds, f.changed, f.is_left FROM recollect.follow_clock($1) AS f
