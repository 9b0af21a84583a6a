//! A model that generates vectors: the mean of a fixed random vector for each token. It has
//! the dimensions and the files of the default model, and costs nearly nothing, so that a
//! large index can be filled in minutes. Texts with the same words get similar vectors.

use std::{fs, path::Path};

use memory_embed::{EmbedderConfig, default_model_dir};
use prost::Message;

use crate::{Failure, random::Random};

/// Dimensions of the default model's vectors.
const DIMENSIONS: i64 = 384;
/// Tokens whose numbers are equal modulo this have the same vector.
const TOKENS: i64 = 1_024;
/// Numbers of ONNX for types of elements and of attributes.
const FLOAT: i32 = 1;
const INT64: i32 = 7;
const INT_ATTRIBUTE: i32 = 2;
/// Versions of the format and of the operators.
const IR: i64 = 8;
const OPSET: i64 = 17;

/// Writes the model beside copies of the default model's other files.
pub fn write(dir: &Path) -> Result<(), Failure> {
    let model = EmbedderConfig::default().model;
    let default = default_model_dir(&model).ok_or("the home directory is unknown")?;
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        let from = default.join(file);
        fs::copy(&from, dir.join(file)).map_err(|error| {
            format!(
                "{}: {error}; `scripts/setup model` fetches it",
                from.display()
            )
        })?;
    }
    fs::write(dir.join("model-int8.onnx"), graph().encode_to_vec())?;
    Ok(())
}

fn graph() -> Model {
    let mut random = Random::new(384);
    let table = (0..TOKENS * DIMENSIONS).flat_map(|_| (random.unit() as f32 - 0.5).to_le_bytes());
    let words = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Model {
        ir_version: IR,
        opset: vec![Opset { version: OPSET }],
        graph: Some(Graph {
            name: "generated".to_owned(),
            node: vec![
                Node {
                    input: words(&["input_ids", "tokens"]),
                    output: words(&["row"]),
                    operator: "Mod".to_owned(),
                    attribute: Vec::new(),
                },
                Node {
                    input: words(&["table", "row"]),
                    output: words(&["last_hidden_state"]),
                    operator: "Gather".to_owned(),
                    attribute: vec![Attribute {
                        name: "axis".to_owned(),
                        value: 0,
                        kind: INT_ATTRIBUTE,
                    }],
                },
            ],
            initializer: vec![
                Tensor {
                    dims: Vec::new(),
                    element: INT64,
                    name: "tokens".to_owned(),
                    raw: TOKENS.to_le_bytes().to_vec(),
                },
                Tensor {
                    dims: vec![TOKENS, DIMENSIONS],
                    element: FLOAT,
                    name: "table".to_owned(),
                    raw: table.collect(),
                },
            ],
            // The model is given both; only the first is read.
            input: vec![
                value("input_ids", INT64, 0),
                value("attention_mask", INT64, 0),
            ],
            output: vec![value("last_hidden_state", FLOAT, DIMENSIONS)],
        }),
    }
}

/// A value of shape batch × tokens, and × `dimensions` if that is not 0.
fn value(name: &str, element: i32, dimensions: i64) -> Value {
    let named = |name: &str| Dimension {
        value: None,
        name: Some(name.to_owned()),
    };
    let mut dimension = vec![named("batch"), named("sequence")];
    if dimensions > 0 {
        dimension.push(Dimension {
            value: Some(dimensions),
            name: None,
        });
    }
    Value {
        name: name.to_owned(),
        kind: Some(Kind {
            tensor: Some(TensorKind {
                element,
                shape: Some(Shape { dimension }),
            }),
        }),
    }
}

// The parts of ONNX's messages that the graph needs.

#[derive(Clone, PartialEq, Message)]
struct Model {
    #[prost(int64, tag = "1")]
    ir_version: i64,
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    opset: Vec<Opset>,
}

#[derive(Clone, PartialEq, Message)]
struct Opset {
    #[prost(int64, tag = "2")]
    version: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "1")]
    node: Vec<Node>,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    input: Vec<Value>,
    #[prost(message, repeated, tag = "12")]
    output: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(string, repeated, tag = "1")]
    input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    output: Vec<String>,
    #[prost(string, tag = "4")]
    operator: String,
    #[prost(message, repeated, tag = "5")]
    attribute: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int64, tag = "3")]
    value: i64,
    #[prost(int32, tag = "20")]
    kind: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    element: i32,
    #[prost(string, tag = "8")]
    name: String,
    #[prost(bytes = "vec", tag = "9")]
    raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Message)]
struct Kind {
    #[prost(message, optional, tag = "1")]
    tensor: Option<TensorKind>,
}

#[derive(Clone, PartialEq, Message)]
struct TensorKind {
    #[prost(int32, tag = "1")]
    element: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(message, repeated, tag = "1")]
    dimension: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
struct Dimension {
    #[prost(int64, optional, tag = "1")]
    value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}
