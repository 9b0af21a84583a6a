use super::*;

fn restored(packed: &Packed, value: usize) -> Vec<u8> {
    let before: i32 = packed.chunk_counts[..value].iter().sum();
    let count = packed.chunk_counts[value];
    let hashes = &packed.hashes[before as usize..(before + count) as usize];
    let mut unpacker = Unpacker::new().unwrap();
    for (hash, content) in packed.chunks.iter().zip(&packed.contents) {
        unpacker.add_chunk(hash, content).unwrap();
    }
    let head = std::iter::once(&packed.data[value]);
    let parts: Vec<&[u8]> = head.chain(hashes).map(Vec::as_slice).collect();
    unpacker.value(&parts).unwrap()
}

/// Bytes of which no part repeats.
fn noise(length: usize) -> Vec<u8> {
    let blocks = (0..).flat_map(|block: u32| Sha256::digest(block.to_be_bytes()));
    blocks.take(length).collect()
}

#[test]
fn values_come_back_as_they_were() {
    let values = [
        Vec::new(),
        b"short".to_vec(),
        vec![7; 1_024],
        noise(1_025),
        vec![0; 100_000],
        noise(3_000_000),
    ];
    let packed = Packed::of(values.iter().map(Vec::as_slice));
    for (place, value) in values.iter().enumerate() {
        assert!(restored(&packed, place) == *value, "{place}");
    }
}

#[test]
fn a_list_that_grows_shares_all_but_its_end() {
    let items = noise(60_000);
    let mut known = std::collections::HashSet::new();
    let mut added = Vec::new();
    for length in (20_000_usize..60_000).step_by(400) {
        // A length before the items, as encodings have it.
        let mut value = length.to_be_bytes()[6..].to_vec();
        value.extend(&items[..length]);
        let packed = Packed::of(std::iter::once(value.as_slice()));
        let chunks = packed.chunks.into_iter().zip(packed.contents);
        let new = chunks.filter(|(hash, _)| known.insert(hash.clone()));
        added.push(new.map(|(_, content)| content.len()).sum::<usize>());
    }
    let later: usize = added[1..].iter().sum();
    let mean = later / (added.len() - 1);
    assert!(mean < 3_000, "{mean} bytes for each 400 new ones");
}

#[test]
fn a_value_without_one_of_its_chunks_is_an_error() {
    let packed = Packed::of(std::iter::once(noise(5_000).as_slice()));
    let parts: Vec<&[u8]> = vec![&packed.data[0], &packed.hashes[0]];
    assert!(Unpacker::new().unwrap().value(&parts).is_err());
}
