-- After the clock was set back: by how much, in microseconds, and the number of the transaction
-- that noticed it. The rows of queues that were written before it have times of the former clock
-- (functions/queues/follow_clock.sql). 0: none is left.
CREATE SEQUENCE recollect.queue_lag MINVALUE 0 START 0;
CREATE SEQUENCE recollect.queue_lag_since MINVALUE 0 START 0;
GRANT SELECT, UPDATE ON SEQUENCE recollect.queue_lag, recollect.queue_lag_since TO recollect_worker;
GRANT SELECT (xmin, ctid) ON recollect.node_memories, recollect.erasures TO recollect_worker;
