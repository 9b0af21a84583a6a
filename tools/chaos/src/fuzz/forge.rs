//! Makes and changes messages and bytes at random.

use std::collections::HashMap;

use fastrand::Rng;
use prost::bytes::Bytes;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage as _, Value,
};

/// Messages nested deeper are empty.
const MAX_DEPTH: usize = 6;

/// Texts that programs often take the wrong way.
const TEXTS: [&str; 26] = [
    "",
    " ",
    "x",
    "0",
    "-1",
    "null",
    "{}",
    "[]",
    "[{\"role\": \"user\", \"content\": \"x\"}]",
    "{\"a\": 1e400}",
    "{\"a\": NaN}",
    "{\"a b.\\\"c\": 9223372036854775807}",
    "{{ 7 * 7 }}{% for x in y %}",
    "' OR 1=1; --",
    "%s%n\\",
    "a\0b",
    "\u{feff}\u{202e}\u{200d}",
    "é\u{301}\u{301}\u{301}",
    "👩‍👩‍👧‍👦",
    "日本語のテキスト",
    "../../etc/passwd",
    "data:image/png;base64,AAAA",
    "http://127.0.0.1:1/",
    "gpt-4o",
    "text",
    "00000000-0000-0000-0000-000000000000",
];

/// A source of random messages.
pub(super) struct Forge<'a> {
    pub(super) rng: &'a mut Rng,
    /// Ids and names that exist.
    pub(super) names: Vec<String>,
}

impl Forge<'_> {
    /// Bytes of any length, most of them short.
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        let length = match self.rng.u8(0..20) {
            0 => self.rng.usize(0..70_000),
            _ => self.rng.usize(0..200),
        };
        let mut bytes = vec![0; length];
        self.rng.fill(&mut bytes);
        bytes
    }

    /// One field within another, a thousand times.
    pub(super) fn nested(&mut self) -> Vec<u8> {
        let field = self.rng.u32(1..8);
        (0..self.rng.usize(1..1_000)).fold(Vec::new(), |inner, _| {
            let mut outer = Vec::new();
            encode_key(field, WireType::LengthDelimited, &mut outer);
            encode_varint(inner.len() as u64, &mut outer);
            outer.extend(inner);
            outer
        })
    }

    /// Changes encoded bytes.
    pub(super) fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..self.rng.usize(1..=4) {
            if bytes.is_empty() {
                bytes.push(self.rng.u8(..));
                continue;
            }
            let at = self.rng.usize(0..bytes.len());
            match self.rng.u8(0..6) {
                0 => bytes[at] ^= 1 << self.rng.u8(0..8),
                1 => bytes[at] = self.rng.u8(..),
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.rng.u8(..)),
                4 => drop(bytes.remove(at)),
                _ => {
                    let end = self.rng.usize(at..bytes.len()) + 1;
                    let again = bytes[at..end].to_vec();
                    bytes.splice(at..at, again);
                }
            }
        }
    }

    /// A message with some fields.
    pub(super) fn message(
        &mut self,
        descriptor: &MessageDescriptor,
        depth: usize,
    ) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        if depth < MAX_DEPTH {
            for field in descriptor.fields() {
                if self.rng.u8(0..3) == 0 {
                    let value = self.value(&field, depth);
                    message.set_field(&field, value);
                }
            }
        }
        message
    }

    /// Changes one field of a message, or of a message in it.
    pub(super) fn change(&mut self, message: &mut DynamicMessage, depth: usize) {
        let fields: Vec<FieldDescriptor> = message.descriptor().fields().collect();
        let Some(field) = self.rng.choice(&fields) else {
            return;
        };
        if self.rng.u8(0..5) == 0 {
            return message.clear_field(field);
        }
        if message.has_field(field) && self.rng.u8(0..3) > 0 {
            match message.get_field_mut(field) {
                Value::Message(inner) => return self.change(inner, depth + 1),
                Value::List(items) if !items.is_empty() => {
                    let item = self.rng.usize(0..items.len());
                    match &mut items[item] {
                        Value::Message(inner) => return self.change(inner, depth + 1),
                        other => *other = self.single(&field.kind(), depth),
                    }
                    return;
                }
                _ => {}
            }
        }
        let value = self.value(field, depth);
        message.set_field(field, value);
    }

    /// A value of a field.
    fn value(&mut self, field: &FieldDescriptor, depth: usize) -> Value {
        if field.is_map() {
            let entry = field.kind();
            let value = entry.as_message().unwrap().map_entry_value_field();
            let entries = (0..self.rng.usize(0..3)).map(|_| {
                let key = MapKey::String(self.text());
                (key, self.single(&value.kind(), depth))
            });
            return Value::Map(entries.collect::<HashMap<_, _>>());
        }
        if field.is_list() {
            let length = match self.rng.u8(0..40) {
                0 => self.rng.usize(0..300),
                _ => self.rng.usize(0..4),
            };
            let items = (0..length).map(|_| self.single(&field.kind(), depth));
            return Value::List(items.collect());
        }
        self.single(&field.kind(), depth)
    }

    /// A value of a kind.
    fn single(&mut self, kind: &Kind, depth: usize) -> Value {
        match kind {
            Kind::Bool => Value::Bool(self.rng.bool()),
            Kind::Float => Value::F32(self.float() as f32),
            Kind::Double => Value::F64(self.float()),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(self.integer() as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(self.integer()),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(self.integer() as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(self.integer() as u64),
            Kind::Enum(_) => Value::EnumNumber(match self.rng.u8(0..10) {
                0 => self.integer() as i32,
                _ => self.rng.i32(0..8),
            }),
            Kind::String => Value::String(self.text()),
            Kind::Bytes => Value::Bytes(Bytes::from(self.bytes())),
            Kind::Message(descriptor) => Value::Message(self.message(descriptor, depth + 1)),
        }
    }

    fn integer(&mut self) -> i64 {
        match self.rng.u8(0..8) {
            0 => *self
                .rng
                .choice(&[i64::MIN, i64::MAX, -1, 1 << 31, 1 << 53])
                .unwrap(),
            1 => i64::from(self.rng.i32(..)),
            2 => self.rng.i64(..),
            _ => self.rng.i64(0..600),
        }
    }

    fn float(&mut self) -> f64 {
        match self.rng.u8(0..8) {
            0 => *self
                .rng
                .choice(&[f64::NAN, f64::INFINITY, f64::MIN, f64::MIN_POSITIVE, -0.0])
                .unwrap(),
            1 => self.integer() as f64,
            _ => self.rng.f64(),
        }
    }

    fn text(&mut self) -> String {
        match self.rng.u8(0..16) {
            0 => {
                let length = self.rng.usize(0..20_000);
                let letter = self.rng.char(..);
                std::iter::repeat_n(letter, length).collect()
            }
            1 => (0..self.rng.usize(0..40))
                .map(|_| self.rng.char(..))
                .collect(),
            2 => self.rng.u128(..).to_string(),
            3..8 => (*self.rng.choice(&TEXTS).unwrap()).to_owned(),
            _ => self.rng.choice(&self.names).cloned().unwrap_or_default(),
        }
    }
}
