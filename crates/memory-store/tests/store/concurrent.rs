//! Calls while other calls erase or change the same rows.

use memory_contract::{
    MessageId,
    message::{Parent, Role},
};
use memory_store::{HistoryQuery, Scope};

use crate::world::{Pause, World, after, said};

/// `parent_of_branch`, which waits for the pause to end.
const PARENT_OF_BRANCH: &str = "
    CREATE OR REPLACE FUNCTION recollect.parent_of_branch(
        p_tenant text, p_thread uuid, p_branch integer, p_depth integer
    )
    RETURNS TABLE (branch integer, fork_depth integer, depth integer)
    LANGUAGE plpgsql STABLE AS $$
    #variable_conflict use_column
    BEGIN
        PERFORM pg_advisory_xact_lock_shared(4711);
        RETURN QUERY
        SELECT COALESCE(b.parent_branch, 0), b.fork_depth, LEAST(b.fork_depth, p_depth)
        FROM recollect.branches b
        WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = p_branch;
    END;
    $$;";

#[tokio::test]
async fn a_read_that_has_begun_shows_the_thread_as_it_was_before_it_is_cleared() {
    let world = World::new().await;
    let pause = Pause::new(&world, PARENT_OF_BRANCH).await;
    for neighbors in [false, true] {
        let thread = world.thread().await.id;
        let mut path = world.say_each(thread, 2, "On").await;
        world.say(thread, Role::Assistant, "Elsewhere.").await;
        let fork = Parent::Message(path[1].into());
        let again = vec![
            after(fork, Role::Assistant, "Again."),
            said(Role::User, "On."),
        ];
        let appended = world.append(thread, again).await.unwrap();
        path.extend(appended.messages.iter().map(|message| message.id));
        let messages = world.store.messages(&world.caller);
        let read = async {
            let ids: Vec<MessageId> = if neighbors {
                let (scope, anchor) = (Scope::Thread(thread), [path[3]]);
                let found = messages.neighbors(&scope, None, &anchor, 5, 0);
                let found = found.await.unwrap().into_iter();
                found.map(|found| found.message.id).collect()
            } else {
                let query = HistoryQuery {
                    thread,
                    head: None,
                    max_tokens: i64::MAX,
                    limit: 10,
                };
                let history = messages.history(&query).await.unwrap();
                history.messages.iter().skip(1).map(|one| one.id).collect()
            };
            ids
        };
        let clear = async {
            world.wait_for_blocked(1).await;
            let threads = world.store.threads(&world.caller);
            threads.clear_thread(thread).await.unwrap();
            pause.end().await;
        };
        pause.begin().await;
        let (read, ()) = tokio::join!(read, clear);
        assert_eq!(read, [path[2], path[1], path[0]], "neighbors: {neighbors}");
    }
}
