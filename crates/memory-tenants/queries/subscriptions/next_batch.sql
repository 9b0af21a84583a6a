SELECT batch_id, attempts, dropped_count, id, actor, action, thread_id, app_id, user_id, subject, item_count, created_at
FROM recollect.next_batch($1, $2, $3, $4, $5)
