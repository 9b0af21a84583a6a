//! A user of an agent provider in the manner of Tensorify.
