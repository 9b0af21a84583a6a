SELECT d.kind, d.number, d.branch, d.after_depth, d.to_depth, d.text = '' AS empty, d.based_on, d.sets_aside, d.active,
    d.reflects
FROM recollect.distillates d
WHERE d.tenant_id = $1 AND d.thread_id = $2
ORDER BY d.kind, d.number
