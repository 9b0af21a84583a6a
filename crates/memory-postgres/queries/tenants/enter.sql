-- Sets the tenant and the caller's bounds for row-level security, and the actor, until the transaction ends.
SELECT set_config('recollect.tenant', $1, true) AS tenant, set_config('recollect.actor', $2, true) AS actor,
    set_config('recollect.bounds', $3, true) AS bounds
