use std::cell::Cell;
use std::fs;

use super::*;

#[test]
fn files_are_read_up_to_a_part_of_the_free_memory() {
    let directory = tempfile::tempdir().unwrap();
    let segment = directory.path().join("segment");
    fs::create_dir_all(segment.join("payload_storage")).unwrap();
    let payloads = "payload_storage/page_0.dat";
    let sizes = [
        (payloads, 5 * CHUNK),
        ("matrix.dat", 3 * CHUNK),
        ("page_0.dat", CHUNK),
    ];
    for (name, size) in sizes {
        fs::write(segment.join(name), vec![1; size]).unwrap();
    }
    // Reserved room, which is not read.
    let reserving = File::options().append(true).open(segment.join(payloads));
    reserving.unwrap().set_len(100 * CHUNK as u64).unwrap();
    let read = |most: usize| {
        let read = read_files(directory.path(), most as u64, &|| true);
        read / CHUNK as u64
    };
    assert_eq!(read(usize::MAX), 9);
    assert_eq!(read(0), 0);
    // The last chunk may be beyond the limit.
    assert_eq!(read(3 * CHUNK + 1), 4);
    // Vectors come after the rest, then payloads.
    let mut files = list(directory.path());
    files.sort_by_cached_key(|path| order(path));
    let names = files
        .iter()
        .map(|path| path.strip_prefix(&segment).unwrap());
    let names: Vec<_> = names.map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["page_0.dat", "matrix.dat", payloads]);
}

#[test]
fn reading_ends_when_the_engine_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["one", "other"] {
        fs::write(directory.path().join(name), vec![1; 5 * CHUNK]).unwrap();
    }
    let asked = Cell::new(0);
    let is_wanted = || {
        asked.set(asked.get() + 1);
        asked.get() <= 2
    };
    let read = read_files(directory.path(), u64::MAX, &is_wanted);
    assert_eq!((read, asked.get()), (2 * CHUNK as u64, 3));
}
