//! The numbers of a tenant's words within an index.

use memory_contract::TenantId;
use memory_text::{LexicalVector, hash};

/// Groups of tenants. For each number the engines keep one list of the points that have it,
/// and a search reads the lists of its words whole. With numbers of their own the tenants of
/// the other groups do not lengthen them. More groups would make more lists, each of which
/// costs memory.
const GROUPS: u32 = 64;
/// Spreads the groups over all 32 bits: 2^32 divided by the golden ratio (Knuth, "The Art of
/// Computer Programming", volume 3, section 6.4).
const SPREAD: u32 = 0x9E37_79B9;

/// Converts between words and their numbers, which are the same for the tenants of a group.
/// Two words of a tenant never have the same number.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary {
    mask: u32,
}

impl Vocabulary {
    /// The vocabulary of a tenant.
    pub(super) fn new(tenant: &TenantId) -> Self {
        let group = hash(tenant.as_str()) % GROUPS;
        Self {
            mask: group.wrapping_mul(SPREAD),
        }
    }

    /// The vector with numbers instead of words.
    pub(super) fn number(self, vector: LexicalVector) -> LexicalVector {
        let words = vector.indices.into_iter().zip(vector.values);
        let mut numbered: Vec<(u32, f32)> = words
            .map(|(word, value)| (word ^ self.mask, value))
            .collect();
        numbered.sort_unstable_by_key(|(number, _)| *number);
        let (indices, values) = numbered.into_iter().unzip();
        LexicalVector { indices, values }
    }

    /// The words with these numbers.
    pub(super) fn words(self, mut numbers: Vec<u32>) -> Vec<u32> {
        for number in &mut numbers {
            *number ^= self.mask;
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_come_back_from_their_numbers() {
        let vector = LexicalVector {
            indices: vec![0, 7, 0x9E37_79B9, u32::MAX],
            values: vec![0.5, 1.0, 1.5, 2.0],
        };
        let mut first = BTreeSet::new();
        for tenant in 0..1_000 {
            let vocabulary = Vocabulary::new(&TenantId::new(format!("tenant-{tenant}")));
            let numbered = vocabulary.number(vector.clone());
            assert!(numbered.indices.is_sorted_by(|left, right| left < right));
            let words = vocabulary.words(numbered.indices.clone());
            first.insert(vocabulary.words(vec![0])[0]);
            let mut back: Vec<(u32, f32)> = words.into_iter().zip(numbered.values).collect();
            back.sort_unstable_by_key(|(word, _)| *word);
            let (indices, values) = back.into_iter().unzip();
            assert_eq!(LexicalVector { indices, values }, vector);
        }
        assert_eq!(first.len(), GROUPS as usize, "some groups have no tenant");
    }
}
