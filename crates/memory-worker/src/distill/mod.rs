//! Distilling threads in the background: summaries, observations, facts.

mod cut;
mod due;
mod extraction;
mod failure;
mod make;
mod observation;
mod queue;
mod run;
mod source;
mod steps;
mod summary;

pub(crate) use queue::DistillQueue;
pub(crate) use run::Distilling;

pub(crate) fn describe_metrics() {
    make::describe_metrics();
    extraction::describe_metrics();
    queue::describe_metrics();
}
