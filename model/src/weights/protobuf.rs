//! The few bytes of protobuf and ONNX vocabulary that writing one network takes.

/// One message under construction.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn integer(mut self, field: u32, value: i64) -> Message {
        varint(&mut self.0, u64::from(field) << 3);
        varint(&mut self.0, value.cast_unsigned());
        self
    }

    pub(super) fn bytes(mut self, field: u32, value: &[u8]) -> Message {
        self.0.extend(header(field, value.len()));
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(self, field: u32, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u32, value: Message) -> Message {
        self.bytes(field, &value.0)
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// The tag and length that precede `length` bytes of content.
pub(super) fn header(field: u32, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, u64::from(field) << 3 | 2);
    varint(&mut bytes, length as u64);
    bytes
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_seven_bits_a_byte_lowest_first() {
        assert_eq!(Message::default().integer(1, 300).finish(), [0x08, 0xac, 0x02]);
    }

    #[test]
    fn nested_messages_carry_their_length() {
        let inner = Message::default().integer(1, 1);
        assert_eq!(Message::default().message(3, inner).finish(), [0x1a, 2, 0x08, 1]);
    }
}
