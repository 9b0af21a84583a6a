//! A user of a long-running agent in the manner of n8n.
