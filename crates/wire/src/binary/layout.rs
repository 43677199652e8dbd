//! How a document is put together: its scalars are written first, and the heads of its containers, which say how long
//! those are, come between them at the end.

use super::marker;

/// The most bytes that the head of a container has: a marker, a length and a count.
pub(super) const LONGEST_HEAD: usize = 9;

/// What is written of a container before its items.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    bytes: [u8; LONGEST_HEAD],
    length: usize,
}

impl Head {
    /// The shortest head. `first` is the marker of the empty array or object, `length` what the items take.
    pub(super) fn new(first: u8, count: usize, length: usize) -> Self {
        const MANY: usize = 16;
        const LONG: usize = 4096;
        let mut head = Self::default();
        if count < 2 {
            head.push(&[first + count as u8]);
            return head;
        }
        let (form, width) = match length {
            0..=0xFF => (2, 1),
            0x100..=0xFFFF => (3, 2),
            _ => (4, 4),
        };
        // With a count a reader can make room for the items at once.
        let is_counted =
            first == marker::ARRAY && (count > MANY || width == 2 && length > LONG || width == 4);
        // A count has no more digits than the length, as an item has a byte at least.
        head.push(&[first + form + if is_counted { 3 } else { 0 }]);
        head.push(length.to_le_bytes().get(..width).unwrap_or_default());
        if is_counted {
            head.push(count.to_le_bytes().get(..width).unwrap_or_default());
        }
        head
    }

    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// A container: where its items begin among the scalars, and its head.
pub(super) struct Container {
    pub(super) at: usize,
    pub(super) head: Head,
}

/// A reference: where its offset is among the scalars, how many bytes that has, and where the string is.
pub(super) struct Reference {
    pub(super) at: usize,
    pub(super) width: usize,
    pub(super) target: usize,
}

/// Puts the heads, in the order in which their containers begin, between the scalars, and the offsets where they belong.
pub(super) fn assemble(scalars: &[u8], containers: &[Container], references: &[Reference]) -> Vec<u8> {
    let heads: usize = containers.iter().map(|container| container.head.len()).sum();
    let mut document = Vec::with_capacity(1 + scalars.len() + heads);
    document.push(marker::DOCUMENT);
    let (mut rest, mut done) = (scalars, 0);
    let mut moved = Vec::with_capacity(if references.is_empty() { 0 } else { containers.len() });
    for container in containers {
        let (before, after) = rest.split_at_checked(container.at - done).unwrap_or((rest, &[]));
        document.extend_from_slice(before);
        document.extend_from_slice(container.head.as_bytes());
        (rest, done) = (after, container.at);
        if !references.is_empty() {
            moved.push((container.at, document.len() - done));
        }
    }
    document.extend_from_slice(rest);
    // Where a scalar is in the document: behind the heads of all containers that begin before it.
    let place = |at: usize| {
        let before = moved.partition_point(|(begin, _)| *begin <= at);
        at + before.checked_sub(1).and_then(|last| moved.get(last)).map_or(1, |(_, by)| *by)
    };
    for reference in references {
        let (at, offset) = (place(reference.at), place(reference.target).to_le_bytes());
        if let Some(bytes) = document.get_mut(at..at + reference.width) {
            bytes.copy_from_slice(&offset[..reference.width]);
        }
    }
    document
}
