//! Calls any method of the contract by its name, with JSON.

use std::sync::LazyLock;

use memory_contract::proto::DESCRIPTORS;
use prost::Message as _;
use prost::bytes::{Buf as _, BufMut as _};
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, MethodDescriptor, SerializeOptions,
};
use serde_json::Value;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Request, Response, Status, Streaming};

use crate::Client;

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).unwrap());

/// `google.api.FieldBehavior.REQUIRED`.
const REQUIRED: i32 = 2;

/// The contract by its descriptors.
pub struct Dynamic;

impl Dynamic {
    /// Every method of every service of the contract.
    pub fn methods() -> Vec<MethodDescriptor> {
        POOL.services()
            .filter(|service| service.package_name() == "recollect.v1")
            .flat_map(|service| service.methods().collect::<Vec<_>>())
            .collect()
    }

    /// The names of the contract's services.
    pub fn services() -> Vec<String> {
        POOL.services()
            .filter(|service| service.package_name() == "recollect.v1")
            .map(|service| service.full_name().to_owned())
            .collect()
    }

    /// A method by `Service/Method`.
    ///
    /// # Panics
    /// If the contract has no such method.
    pub fn method(name: &str) -> MethodDescriptor {
        Self::methods()
            .into_iter()
            .find(|method| Self::name(method) == name)
            .unwrap_or_else(|| panic!("the contract has no {name}"))
    }

    /// The short name of a method: `Service/Method`.
    pub fn name(method: &MethodDescriptor) -> String {
        format!("{}/{}", method.parent_service().name(), method.name())
    }

    /// The fields of a method's request that are annotated as required.
    pub fn required(method: &MethodDescriptor) -> Vec<String> {
        let option = POOL
            .get_extension_by_name("google.api.field_behavior")
            .unwrap();
        let required = |field: &FieldDescriptor| {
            let options = field.options();
            let behaviors = options.get_extension(&option);
            let behaviors = behaviors.as_list().unwrap_or_default();
            behaviors.contains(&prost_reflect::Value::EnumNumber(REQUIRED))
        };
        let request = method.input();
        let fields = request.fields().filter(required);
        fields.map(|field| field.name().to_owned()).collect()
    }

    /// Reads a table: each line has a method, its request as JSON, and further words.
    /// The names of `values` are replaced by the values.
    ///
    /// # Panics
    /// If a line has no request.
    pub fn requests(
        table: &'static str,
        values: &[(&str, &str)],
    ) -> Vec<(&'static str, Value, Vec<String>)> {
        let row = |line: &'static str| {
            let (method, rest) = line.split_once(' ').unwrap();
            let rest = values.iter().fold(rest.to_owned(), |rest, (name, value)| {
                rest.replace(name, value)
            });
            let mut request = serde_json::Deserializer::from_str(&rest).into_iter::<Value>();
            let value = request.next().unwrap().unwrap();
            let words = rest[request.byte_offset()..].split_whitespace();
            (method, value, words.map(str::to_owned).collect())
        };
        table.trim().lines().map(row).collect()
    }

    /// Calls a method with one request and returns all messages of the answer.
    pub async fn call(
        client: &Client,
        name: &str,
        request: Value,
    ) -> Result<Response<Vec<Value>>, Status> {
        let method = Self::method(name);
        let message = DynamicMessage::deserialize(method.input(), &request)
            .unwrap_or_else(|error| panic!("not a request of {name}: {error}: {request}"));
        Self::send(client, &method, message.encode_to_vec()).await
    }

    /// Calls a method with a request that has no field set.
    pub async fn call_empty(
        client: &Client,
        method: &MethodDescriptor,
    ) -> Result<Response<Vec<Value>>, Status> {
        Self::send(client, method, Vec::new()).await
    }

    /// Calls a method with any bytes in the place of a request.
    pub async fn send(
        client: &Client,
        method: &MethodDescriptor,
        request: Vec<u8>,
    ) -> Result<Response<Vec<Value>>, Status> {
        let response = Self::open(client, method, Request::new(request)).await?;
        let (metadata, mut stream, extensions) = response.into_parts();
        let mut answers = Vec::new();
        while let Some(bytes) = stream.message().await? {
            let answer = DynamicMessage::decode(method.output(), bytes.as_slice()).unwrap();
            let options = SerializeOptions::new().use_proto_field_name(true);
            answers.push(
                answer
                    .serialize_with_options(serde_json::value::Serializer, &options)
                    .unwrap(),
            );
        }
        Ok(Response::from_parts(metadata, answers, extensions))
    }

    /// Calls a method with any bytes in the place of a request. The messages of the answer
    /// are encoded.
    pub async fn open(
        client: &Client,
        method: &MethodDescriptor,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Streaming<Vec<u8>>>, Status> {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        let mut grpc = tonic::client::Grpc::new(client.authorized());
        grpc.ready()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        // On the wire a single message and a stream of one look the same.
        let request = request.map(tokio_stream::once);
        grpc.streaming(request, path.parse().unwrap(), Bytes).await
    }
}

/// Messages that are encoded already.
#[derive(Clone, Copy)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut item = vec![0; buffer.remaining()];
        buffer.copy_to_slice(&mut item);
        Ok(Some(item))
    }
}
