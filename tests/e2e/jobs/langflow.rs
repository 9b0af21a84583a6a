//! A user of a flow builder in the manner of Langflow.
