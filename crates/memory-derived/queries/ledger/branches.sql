SELECT b.branch, COALESCE(b.parent_branch, 0) AS parent_branch, b.fork_depth
FROM recollect.branches b
WHERE b.tenant_id = $1 AND b.thread_id = $2
ORDER BY b.branch
