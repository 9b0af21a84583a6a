-- Stores observations of one generation, in order, in one transaction. It ends with the first
-- rejected one; the observations before it are stored.
CREATE OR REPLACE FUNCTION recollect.commit_observations(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint, p_branches integer[], p_afters integer[],
    p_tos integer[], p_texts text[], p_tokens integer[], p_made_by text[], p_active boolean[],
    -- Of the last one, as commit_observation returns them.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    generation := p_generation;
    FOR i IN 1..cardinality(p_texts) LOOP
        SELECT c.status, c.number, c.generation INTO status, number, generation
        FROM recollect.commit_observation(p_tenant, p_actor, p_thread, generation, p_branches[i], p_afters[i], p_tos[i],
            p_texts[i], p_tokens[i], p_made_by[i], p_active[i]) c;
        EXIT WHEN status <> 'ok';
    END LOOP;
END;
$$;
