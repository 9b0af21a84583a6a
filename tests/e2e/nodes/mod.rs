//! Node memory keeps every acknowledged turn, and keeps the nodes of a workflow apart.

mod branches;
mod contexts;
mod conversations;
mod dialogue;
mod objects;
mod outages;
mod processes;
mod s3;
mod turns;
