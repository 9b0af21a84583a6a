-- Sets the tenant for row-level security, and the actor, until the transaction ends.
SELECT set_config('recollect.tenant', $1, true) AS tenant, set_config('recollect.actor', $2, true) AS actor
