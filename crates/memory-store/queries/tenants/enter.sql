-- Names the tenant for row-level security until the transaction ends.
SELECT set_config('recollect.tenant', $1, true)
