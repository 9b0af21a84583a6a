-- The seq of the answer that a node's turn belongs to, among the messages right below its
-- place: the one that it was added to (p_child), or else the first one that was appended
-- after the turn. Null: there is none yet.
CREATE OR REPLACE FUNCTION recollect.node_answer(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer, p_child bigint, p_after bigint
)
RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT COALESCE(
        p_child,
        (SELECT min(below.seq)
         FROM recollect.seqs_below(p_tenant, p_thread, p_branch, p_depth) AS below
         WHERE below.seq > p_after))
$$;
