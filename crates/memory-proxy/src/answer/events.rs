//! Server-sent events, as far as these APIs use them
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>): the data of each event.

/// Bytes that have arrived of a stream, cut into lines.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The data of the event that has no end yet, a line feed behind each line.
    data: Vec<u8>,
    /// Whether the last byte was a carriage return, whose line feed may follow.
    after_return: bool,
}

impl Events {
    /// Takes bytes, and gives the data of each event that they complete.
    pub(super) fn take(&mut self, bytes: &[u8], mut event: impl FnMut(&[u8])) {
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&rest[..end]);
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_return {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            self.end_line(&mut event);
        }
        self.line.extend_from_slice(rest);
    }

    fn end_line(&mut self, event: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if let Some(data) = self.data.strip_suffix(b"\n") {
                event(data);
            }
            self.data.clear();
            return;
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            self.data
                .extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            self.data.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&str]) -> Vec<String> {
        let mut all = Vec::new();
        let mut events = Events::default();
        for chunk in chunks {
            events.take(chunk.as_bytes(), |data| {
                all.push(String::from_utf8(data.to_vec()).unwrap());
            });
        }
        all
    }

    #[test]
    fn each_event_gives_its_data() {
        let stream =
            "\u{feff}: hello\n\nevent: a\ndata: 1\n\ndata:2\ndata: 3\n\nid: 4\n\ndata: unfinished";
        assert_eq!(events(&[stream]), ["1", "2\n3"]);
    }

    #[test]
    fn lines_end_in_each_of_the_three_ways() {
        let expected = ["1", "2\n3"];
        for end in ["\n", "\r\n", "\r"] {
            let stream = "data: 1\n\ndata: 2\ndata: 3\n\n".replace('\n', end);
            assert_eq!(events(&[&stream]), expected, "{end:?}");
            let bytes: Vec<String> = stream.chars().map(String::from).collect();
            let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
            assert_eq!(events(&bytes), expected, "{end:?}");
        }
    }
}
