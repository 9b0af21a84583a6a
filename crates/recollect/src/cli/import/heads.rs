//! Collects the threads whose head is not their last message.

use memory_contract::proto::SessionRef;

/// The head of a thread, which is not the message that is imported last.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The thread's session.
    pub session: SessionRef,
    /// The message that was the head.
    pub message_id: String,
    /// The message that is the head after the import.
    pub last: String,
}

/// Finds them among messages in the order of a file.
#[derive(Debug, Default)]
pub struct Heads {
    current: Option<Head>,
    moved: Vec<Head>,
}

impl Heads {
    /// Sees the next message.
    pub fn see(&mut self, session: &SessionRef, message_id: &str, head: bool) {
        if head {
            self.settle();
            self.current = Some(Head {
                session: session.clone(),
                message_id: message_id.to_owned(),
                last: message_id.to_owned(),
            });
        } else if let Some(current) = &mut self.current
            && current.session == *session
        {
            message_id.clone_into(&mut current.last);
        }
    }

    /// All that were found.
    pub fn end(mut self) -> Vec<Head> {
        self.settle();
        self.moved
    }

    fn settle(&mut self) {
        let ended = self.current.take();
        let moved = ended.filter(|head| head.last != head.message_id);
        self.moved.extend(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_came_last_needs_nothing() {
        let session = |key: &str| SessionRef {
            session_key: key.to_owned(),
            ..Default::default()
        };
        let mut heads = Heads::default();
        for (key, id, head) in [
            ("one", "a", false),
            ("one", "b", true),
            ("two", "c", true),
            ("two", "d", false),
            ("two", "e", false),
            ("three", "f", false),
        ] {
            heads.see(&session(key), id, head);
        }
        let expected = Head {
            session: session("two"),
            message_id: "c".to_owned(),
            last: "e".to_owned(),
        };
        assert_eq!(heads.end(), [expected]);
    }
}
