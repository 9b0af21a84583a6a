//! Messages with a flag and a length in front: gRPC's, and the envelopes of Connect.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// The flag of a compressed message.
pub(super) const COMPRESSED: u8 = 0b01;
/// The flag of Connect's last envelope of an answer.
pub(super) const END: u8 = 0b10;
const HEADER: usize = 5;

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Framed {
    pub(super) flags: u8,
    pub(super) data: Bytes,
}

/// A message that is longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Cuts bytes into messages.
#[derive(Debug)]
pub(super) struct Frames {
    buffer: BytesMut,
    max: usize,
}

impl Frames {
    /// Of messages with at most `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            max,
        }
    }

    pub(super) fn push(&mut self, data: &[u8]) {
        self.buffer.extend_from_slice(data);
    }

    /// The next whole message.
    pub(super) fn next(&mut self) -> Result<Option<Framed>, TooLong> {
        let Some((header, _)) = self.buffer.split_at_checked(HEADER) else {
            return Ok(None);
        };
        let flags = header[0];
        let length = (&header[1..]).get_u32() as usize;
        if length > self.max {
            return Err(TooLong);
        }
        if self.buffer.len() < HEADER + length {
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        let data = self.buffer.split_to(length).freeze();
        Ok(Some(Framed { flags, data }))
    }

    /// Whether no part of a message waits for the rest.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// A message with its header.
pub(super) fn frame(flags: u8, data: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(HEADER + data.len());
    framed.put_u8(flags);
    // Limits keep messages far below 4 GiB.
    framed.put_u32(u32::try_from(data.len()).unwrap_or(u32::MAX));
    framed.extend_from_slice(data);
    framed.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_out_of_pieces_of_any_size() {
        let wire = [frame(0, b"one"), frame(END, b""), frame(COMPRESSED, b"two")].concat();
        for piece in 1..wire.len() {
            let mut frames = Frames::new(3);
            let mut found = Vec::new();
            for bytes in wire.chunks(piece) {
                frames.push(bytes);
                while let Some(framed) = frames.next().unwrap() {
                    found.push((framed.flags, framed.data));
                }
            }
            let expected = [
                (0, Bytes::from_static(b"one")),
                (END, Bytes::new()),
                (COMPRESSED, Bytes::from_static(b"two")),
            ];
            assert_eq!(found, expected, "pieces of {piece}");
            assert!(frames.is_empty());
        }
        let mut frames = Frames::new(2);
        frames.push(&wire);
        assert_eq!(frames.next(), Err(TooLong));
    }
}
