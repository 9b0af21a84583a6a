//! A user of a workflow builder in the manner of Dify.
