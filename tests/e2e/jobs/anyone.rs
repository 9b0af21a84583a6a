//! A user of any agent.
