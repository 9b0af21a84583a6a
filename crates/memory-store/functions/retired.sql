-- Functions, and signatures of functions, that the release before last still called. They
-- are dropped before the present ones are applied.
--
-- A release that changes a function's signature keeps the old overload in a file of its
-- own, so that servers of the release before go on working during a rolling upgrade. The
-- next release deletes that file and lists the signature here:
--     DROP FUNCTION IF EXISTS recollect.name(text, uuid);
-- So is a function whose parameters are renamed, which CREATE OR REPLACE refuses: it is
-- created again in the same transaction.
DROP FUNCTION IF EXISTS recollect.use_thread(text, uuid);
DROP FUNCTION IF EXISTS recollect.ephemeral_usage(text);
DROP FUNCTION IF EXISTS recollect.append(
    text, text, uuid, uuid[], uuid[], text[], text[], json[], jsonb[], integer[], text[], timestamptz[], uuid, bytea,
    boolean, uuid, boolean, bigint);
DROP FUNCTION IF EXISTS recollect.append_to_session(
    text, text, uuid, text[], text, text, text, bytea, uuid[], uuid[], text[], text[], json[], jsonb[], integer[],
    text[], timestamptz[], uuid, bytea, boolean, uuid, bigint);
DROP FUNCTION IF EXISTS recollect.put_working_memory(
    text, text, uuid, text, integer, uuid[], text[], text[], json[], jsonb[], integer[], text[], timestamptz[], text,
    integer, jsonb, text, json, double precision, text, integer, bigint);
DROP FUNCTION IF EXISTS recollect.history(text, uuid, uuid, bigint, integer, bigint, bigint, bigint, uuid);
DROP FUNCTION IF EXISTS recollect.history(text, uuid, text, bigint, integer, bigint, bigint, bigint, uuid);
DROP FUNCTION IF EXISTS recollect.read_range(text, uuid, uuid, integer, integer, integer, bigint, bigint);
DROP FUNCTION IF EXISTS recollect.read_working_memory(text, uuid, integer, bigint);
DROP FUNCTION IF EXISTS recollect.neighbors(text, uuid[], text, text, uuid, uuid, integer, integer);
DROP FUNCTION IF EXISTS recollect.neighbors(text, uuid[], text, text, uuid, uuid, text, integer, integer);
DROP FUNCTION IF EXISTS recollect.unindexed(text, text, text, text, uuid, integer, integer, bigint);
DROP FUNCTION IF EXISTS recollect.delete_message(text, text, uuid, uuid);
DROP FUNCTION IF EXISTS recollect.set_head(text, text, uuid, uuid, boolean, uuid);
DROP FUNCTION IF EXISTS recollect.distill_state(text, uuid, uuid, boolean);
DROP FUNCTION IF EXISTS recollect.nearest_node_message(text, uuid, text, uuid);
DROP FUNCTION IF EXISTS recollect.add_node_turn(
    text, text, uuid, text, text, text, boolean, text, text, uuid, uuid, json, integer, bigint, double precision, uuid,
    bytea);
DROP FUNCTION IF EXISTS recollect.put_working_memory(
    text, text, uuid, text, integer, uuid[], text[], text[], json[], jsonb[], integer[], text[], timestamptz[], text,
    integer, jsonb, text, json, double precision, text, integer, bigint, text[], boolean[]);
DROP FUNCTION IF EXISTS recollect.working_tail(text, uuid, integer);
DROP FUNCTION IF EXISTS recollect.update_app_policy(text, text, text, text, boolean, text[], jsonb);
DROP FUNCTION IF EXISTS recollect.erase_memories_by_source(text, uuid, uuid);
DROP FUNCTION IF EXISTS recollect.erase_nodes(text, uuid);
DROP FUNCTION IF EXISTS recollect.enqueue_distill(text, uuid);
DROP FUNCTION IF EXISTS recollect.enqueue_memory(text, text, text, uuid, text);
DROP FUNCTION IF EXISTS recollect.erase_memories(text, uuid[]);
DROP FUNCTION IF EXISTS recollect.realign_summary(text, text, uuid, boolean);
DROP FUNCTION IF EXISTS recollect.is_off_path(text, uuid, uuid, bigint);
DROP FUNCTION IF EXISTS recollect.reach_of_memory(text, uuid, uuid, integer[], integer[]);
DROP FUNCTION IF EXISTS recollect.unmark_imported(text, uuid);
DROP FUNCTION IF EXISTS recollect.unindexed(text, text, text[], text, uuid[], integer, integer, bigint);
DROP FUNCTION IF EXISTS recollect.erase_thread_content(text, uuid, bigint);
DROP FUNCTION IF EXISTS recollect.follow_clock();
DROP FUNCTION IF EXISTS recollect.release_unwritten(text, text[]);
DROP FUNCTION IF EXISTS recollect.after_prefix(text[]);
DROP FUNCTION IF EXISTS recollect.document_matches(jsonb, text[], text[], text[]);
DROP FUNCTION IF EXISTS recollect.refresh_documents(text, bytea, text[], text[]);
DROP FUNCTION IF EXISTS recollect.checkpoint_pieces(text, uuid, bytea, bytea[]);
DROP FUNCTION IF EXISTS recollect.put_checkpoint(
    text, text, uuid, text, text, text, text, bytea, bigint, text, bytea[], bytea[], text[], text[], text[], bigint[],
    bytea[], integer[], bytea[], bytea[], bytea[], bigint, bigint, bigint);
