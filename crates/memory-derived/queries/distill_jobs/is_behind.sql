-- Whether a thread that is due has waited for $1 seconds.
SELECT EXISTS (SELECT FROM recollect.distill_jobs j WHERE j.available_at <= now() - make_interval(secs => $1))
