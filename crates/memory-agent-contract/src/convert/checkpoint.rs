//! Checkpoints of an agent's run.

use std::collections::HashSet;

use memory_contract::{
    Fields, Invalid, InvalidFields, check,
    convert::{storable_object, timestamp},
    limits, proto,
};

use crate::checkpoint::{ChannelValue, Checkpoint, Encoded, NewCheckpoint, TaskWrite};

/// Reads a checkpoint to store.
///
/// # Errors
/// Missing values, and values over their limits.
pub fn checkpoint_from(
    request: proto::PutCheckpointRequest,
) -> Result<NewCheckpoint, InvalidFields> {
    let proto::PutCheckpointRequest {
        thread: _,
        namespace,
        checkpoint_id,
        parent_checkpoint_id,
        r#type,
        data,
        metadata,
        values,
        allow_missing_parent,
    } = request;
    let mut fields = Fields::default();
    let namespace = fields.take(checkpoint_namespace_from(namespace));
    let id = fields.take(checkpoint_id_from(checkpoint_id));
    let parent = short("parent_checkpoint_id", parent_checkpoint_id);
    let parent = fields.take(parent);
    let kind = fields.take(encoding("type", r#type));
    let metadata = match metadata.is_empty() {
        true => "{}".to_owned(),
        false => metadata,
    };
    let most = limits::CHECKPOINT_METADATA_BYTES;
    fields.take(storable_object("metadata", &metadata, most, limits::DOCUMENT_DEPTH).map(drop));
    let (kept, values) = fields.take(values_from("values", values));
    let body = Encoded { kind, data };
    fields.all(Some(NewCheckpoint {
        namespace,
        id,
        parent,
        allow_missing_parent,
        body,
        metadata,
        kept,
        values,
    }))
}

/// Reads the writes of tasks.
///
/// # Errors
/// No write or too many, one that occurs twice, and values over their limits.
pub fn checkpoint_writes_from(
    field: &str,
    writes: Vec<proto::CheckpointWrite>,
) -> Result<Vec<TaskWrite>, InvalidFields> {
    let most = limits::CHECKPOINT_CHANNELS;
    if writes.is_empty() || writes.len() > most {
        return Err(Invalid::new(field, format!("must have 1 to {most} entries")).into());
    }
    let mut seen = HashSet::new();
    let mut fields = Fields::default();
    let writes = writes.into_iter().enumerate();
    let read: Vec<TaskWrite> = writes
        .filter_map(|(index, write)| {
            let read = write_from(write).and_then(|write| {
                match seen.insert((write.task.clone(), write.index)) {
                    true => Ok(write),
                    false => Err(Invalid::new("index", "must not occur twice in a task")),
                }
            });
            fields.get(read.map_err(|problem| problem.within(format_args!("{field}[{index}]"))))
        })
        .collect();
    fields.all(Some(read)).map_err(InvalidFields::first)
}

/// Reads the namespace of a checkpoint.
///
/// # Errors
/// Too many bytes, or NUL.
pub fn checkpoint_namespace_from(namespace: String) -> Result<String, Invalid> {
    check::long_text("namespace", namespace, limits::CHECKPOINT_PATH_BYTES)
}

/// Reads the id of a checkpoint.
///
/// # Errors
/// No id, too many bytes, or NUL.
pub fn checkpoint_id_from(id: String) -> Result<String, Invalid> {
    check::required_bytes("checkpoint_id", &id, limits::CHECKPOINT_ID_BYTES)?;
    Ok(id)
}

/// Reads the id of a checkpoint that may be left empty.
///
/// # Errors
/// Too many bytes, or NUL.
pub fn optional_checkpoint_id_from(field: &str, id: String) -> Result<String, Invalid> {
    short(field, id)
}

/// Checks a filter of metadata: the JSON text of an object.
///
/// # Errors
/// Another text, or too many bytes.
pub fn metadata_filter_from(field: &str, filter: String) -> Result<String, Invalid> {
    storable_object(
        field,
        &filter,
        limits::CONDITION_BYTES,
        limits::DOCUMENT_DEPTH,
    )?;
    Ok(filter)
}

/// The channels and versions of values that were stored before, and the new values.
type Values = (Vec<(String, String)>, Vec<ChannelValue>);

fn values_from(field: &str, values: Vec<proto::CheckpointValue>) -> Result<Values, InvalidFields> {
    let most = limits::CHECKPOINT_CHANNELS;
    if values.len() > most {
        return Err(Invalid::new(field, format!("must have at most {most} entries")).into());
    }
    let mut seen = HashSet::new();
    let mut fields = Fields::default();
    let (mut kept, mut new) = (Vec::new(), Vec::new());
    for (index, value) in values.into_iter().enumerate() {
        let read = value_from(value).and_then(|(channel, version, value)| {
            match seen.insert(channel.clone()) {
                true => Ok((channel, version, value)),
                false => Err(Invalid::new("channel", "must not occur twice")),
            }
        });
        let at = |problem: Invalid| problem.within(format_args!("{field}[{index}]"));
        match fields.get(read.map_err(at)) {
            Some((channel, version, Some(value))) => new.push(ChannelValue {
                channel,
                version,
                value,
            }),
            Some((channel, version, None)) => kept.push((channel, version)),
            None => {}
        }
    }
    fields.all(Some((kept, new))).map_err(InvalidFields::first)
}

fn value_from(value: proto::CheckpointValue) -> Result<(String, String, Option<Encoded>), Invalid> {
    let proto::CheckpointValue {
        channel,
        version,
        r#type,
        data,
    } = value;
    check::required_bytes("channel", &channel, limits::CHANNEL_BYTES)?;
    check::required_bytes("version", &version, limits::CHECKPOINT_ID_BYTES)?;
    let kind = encoding("type", r#type)?;
    Ok((channel, version, data.map(|data| Encoded { kind, data })))
}

fn write_from(write: proto::CheckpointWrite) -> Result<TaskWrite, Invalid> {
    let proto::CheckpointWrite {
        task_id,
        task_path,
        index,
        channel,
        r#type,
        data,
    } = write;
    check::required_bytes("task_id", &task_id, limits::TASK_ID_BYTES)?;
    check::required_bytes("channel", &channel, limits::CHANNEL_BYTES)?;
    Ok(TaskWrite {
        task: task_id,
        path: check::long_text("task_path", task_path, limits::CHECKPOINT_PATH_BYTES)?,
        index,
        channel,
        value: Encoded {
            kind: encoding("type", r#type)?,
            data,
        },
    })
}

fn short(field: &str, id: String) -> Result<String, Invalid> {
    check::long_text(field, id, limits::CHECKPOINT_ID_BYTES)
}

fn encoding(field: &str, kind: String) -> Result<String, Invalid> {
    check::long_text(field, kind, limits::ENCODING_BYTES)
}

impl From<ChannelValue> for proto::CheckpointValue {
    fn from(value: ChannelValue) -> Self {
        let ChannelValue {
            channel,
            version,
            value: Encoded { kind, data },
        } = value;
        Self {
            channel,
            version,
            r#type: kind,
            data: Some(data),
        }
    }
}

impl From<TaskWrite> for proto::CheckpointWrite {
    fn from(write: TaskWrite) -> Self {
        let TaskWrite {
            task,
            path,
            index,
            channel,
            value: Encoded { kind, data },
        } = write;
        Self {
            task_id: task,
            task_path: path,
            index,
            channel,
            r#type: kind,
            data,
        }
    }
}

impl From<Checkpoint> for proto::Checkpoint {
    fn from(checkpoint: Checkpoint) -> Self {
        let Checkpoint {
            thread,
            session_key,
            namespace,
            id,
            parent,
            body: Encoded { kind, data },
            metadata,
            values,
            writes,
            created,
        } = checkpoint;
        Self {
            thread_id: thread.to_string(),
            session_key: session_key.as_str().to_owned(),
            namespace,
            checkpoint_id: id,
            parent_checkpoint_id: parent,
            r#type: kind,
            data,
            metadata,
            values: values.into_iter().map(Into::into).collect(),
            writes: writes.into_iter().map(Into::into).collect(),
            create_time: Some(timestamp(created)),
        }
    }
}
