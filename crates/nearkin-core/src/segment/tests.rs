//! Round trips of segments: every type, every damaged byte, every length.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;

fn path() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("nearkin-segment-{}-{number}", std::process::id()))
}

/// Write a file of the sections 1.0, 1.1 (empty) and 9.0; return the bytes of each.
fn small() -> (PathBuf, Vec<Vec<u8>>) {
    let path = path();
    let mut writer = Writer::create(&path, 3, 3).expect("writable");
    writer.section(1, 0, &[7_u64, u64::MAX]).expect("room");
    writer.section::<u32>(1, 1, &[]).expect("room");
    writer.section(9, 0, b"some bytes").expect("room");
    writer.finish().expect("writable");
    (path, vec![as_bytes(&[7_u64, u64::MAX]).to_vec(), vec![], b"some bytes".to_vec()])
}

/// Read everything from a file with checksums verified.
fn all(path: &Path) -> crate::Result<(u32, Vec<Vec<u8>>)> {
    let segment = Segment::open(path)?;
    segment.verify()?;
    let columns = [(1, 0), (1, 1), (9, 0)].map(|(tag, number)| segment.column::<u8>(tag, number));
    let bytes: crate::Result<Vec<Vec<u8>>> = columns.into_iter().map(|column| Ok(column?.to_vec())).collect();
    Ok((segment.kind(), bytes?))
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let (pipe, socket) = (path(), path());
    let name = std::ffi::CString::new(pipe.to_str().expect("UTF-8")).expect("no zero");
    // SAFETY: the name ends with a zero byte.
    assert_eq!(0, unsafe { libc::mkfifo(name.as_ptr(), 0o600) });
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("bindable");
    let folder = std::env::temp_dir();
    let found =
        [(&pipe, "a named pipe"), (&socket, "a socket"), (&folder, "a folder"), (&"/dev/zero".into(), "a device")];
    for (path, kind) in found {
        let error = Segment::open(path).expect_err("not a regular file");
        assert!(matches!(&error, Error::Input { reason, .. } if reason.contains(kind)), "{error}");
    }
    assert!(matches!(Segment::open(&path()), Err(Error::Io { .. })));
    drop(listener);
    for path in [pipe, socket] {
        std::fs::remove_file(path).expect("there");
    }
}

#[test]
fn every_damaged_byte_is_found_or_read_by_nobody() {
    let (path, sections) = small();
    let expected = (3, sections.clone());
    let whole = std::fs::read(&path).expect("there");
    assert_eq!(expected, all(&path).expect("whole"));
    let mut silent = 0;
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            std::fs::write(&path, &bytes).expect("writable");
            match all(&path) {
                Ok(found) => {
                    assert_eq!(expected, found, "byte {at}");
                    silent += 1;
                }
                Err(Error::Corrupt { .. } | Error::FormatVersion { .. }) => {}
                Err(other) => panic!("byte {at}: {other}"),
            }
        }
    }
    // Only the padding up to the next multiple of 64 may change undetected.
    let held = HEADER + 3 * ENTRY + sections.iter().map(Vec::len).sum::<usize>();
    assert_eq!(3 * (whole.len() - held), silent);
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn every_other_length_is_refused() {
    let (path, _) = small();
    let whole = std::fs::read(&path).expect("there");
    for length in (0..whole.len()).chain([whole.len() + 1, whole.len() + 64]) {
        let mut bytes = whole.clone();
        bytes.resize(length, 0);
        std::fs::write(&path, &bytes).expect("writable");
        assert!(matches!(Segment::open(&path), Err(Error::Corrupt { .. } | Error::Io { .. })), "{length}");
    }
    std::fs::remove_file(&path).expect("there");
    assert!(matches!(Segment::open(&path), Err(Error::Io { .. })));
}

#[test]
fn a_newer_version_is_named() {
    let (path, _) = small();
    let mut bytes = std::fs::read(&path).expect("there");
    bytes[8] = 2;
    std::fs::write(&path, &bytes).expect("writable");
    assert!(matches!(Segment::open(&path), Err(Error::FormatVersion { found: 2, newest: 1 })));
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn a_table_that_points_outside_is_refused_though_its_checksum_is_right() {
    let (path, _) = small();
    let whole = std::fs::read(&path).expect("there");
    let end = HEADER + 3 * ENTRY;
    // Offset and length of the first section: before the arrays, misaligned, past the end, overlapping the end.
    let length = whole.len() as u64;
    for (offset, bytes) in
        [(0, 8), (HEADER as u64, 8), (193, 8), (length, 1), (192, length), (64, u64::MAX - 63), (u64::MAX - 63, 64)]
    {
        let mut file = whole.clone();
        file[HEADER + 8..HEADER + 16].copy_from_slice(&offset.to_le_bytes());
        file[HEADER + 16..HEADER + 24].copy_from_slice(&bytes.to_le_bytes());
        file[SUM_AT..HEADER].fill(0);
        let sum = xxhash_rust::xxh3::xxh3_64(&file[..end]);
        file[SUM_AT..HEADER].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&path, &file).expect("writable");
        let error = Segment::open(&path).expect_err("outside").to_string();
        assert!(error.ends_with("a section lies outside of it"), "{offset} {bytes}: {error}");
    }
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn what_is_not_there_is_an_error() {
    let (path, _) = small();
    let segment = Segment::open(&path).expect("whole");
    assert_eq!(3, segment.len());
    assert!(segment.has(9, 0) && !segment.has(9, 1));
    assert!(segment.column::<u8>(9, 1).is_err() && segment.verify_one(9, 1).is_err());
    // Ten bytes are not a multiple of 32-bit values.
    assert!(segment.column::<u32>(9, 0).is_err());
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn a_writer_without_room_or_end_leaves_no_file() {
    let path = path();
    let mut writer = Writer::create(&path, 3, 1).expect("writable");
    writer.section(1, 0, &[1_u8]).expect("room");
    assert!(matches!(writer.section(1, 1, &[1_u8]), Err(Error::Parameter { .. })));
    drop(writer);
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(
        kind: u32,
        wide in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..40), 0..4),
        bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4),
        floats in prop::collection::vec(any::<u32>(), 0..40),
        spare in 0_usize..3,
    ) {
        let path = path();
        let mut writer = Writer::create(&path, kind, wide.len() + bytes.len() + 1 + spare).expect("writable");
        for (number, values) in wide.iter().enumerate() {
            writer.section(1, number as u32, values).expect("room");
        }
        for (number, values) in bytes.iter().enumerate() {
            writer.section(2, number as u32, values).expect("room");
        }
        // Any bits are a value, including NaN.
        let floats: Vec<f32> = floats.into_iter().map(f32::from_bits).collect();
        writer.section(u32::MAX, u32::MAX, &floats).expect("room");
        writer.finish().expect("writable");
        let segment = Segment::open(&path).expect("whole");
        segment.verify().expect("whole");
        prop_assert_eq!((kind, wide.len() + bytes.len() + 1), (segment.kind(), segment.len()));
        for (number, values) in wide.iter().enumerate() {
            let mut column = segment.column::<u64>(1, number as u32).expect("there");
            prop_assert_eq!(values.as_slice(), &*column);
            prop_assert!(column.is_mapped() && column.bytes() == 0);
            // Changes are made in memory, never in the file.
            column.to_mut().push(5);
            prop_assert_eq!(Some(&5), column.last());
            prop_assert!(!column.is_mapped());
            segment.verify_one(1, number as u32).expect("unchanged");
        }
        for (number, values) in bytes.iter().enumerate() {
            prop_assert_eq!(values.as_slice(), &*segment.column::<u8>(2, number as u32).expect("there"));
        }
        let found = segment.column::<f32>(u32::MAX, u32::MAX).expect("there");
        prop_assert_eq!(as_bytes(&floats), as_bytes(&found));
        std::fs::remove_file(&path).expect("there");
    }

    #[test]
    fn any_bytes_are_an_error(head in any::<bool>(), tail in prop::collection::vec(any::<u8>(), 0..300)) {
        let path = path();
        let mut bytes = if head { [&MAGIC[..], &VERSION.to_le_bytes()].concat() } else { Vec::new() };
        bytes.extend(tail);
        std::fs::write(&path, &bytes).expect("writable");
        prop_assert!(Segment::open(&path).is_err());
        std::fs::remove_file(&path).expect("there");
    }
}

#[test]
fn a_file_whose_writing_is_stopped_leaves_the_old_one() {
    let (mut path, _) = small();
    let old = std::fs::read(&path).expect("there");
    let write = |path: &mut PathBuf| {
        let mut writer = Writer::create(path, 3, 2)?;
        writer.section(1, 0, &vec![5_u64; 100_000])?;
        writer.section(9, 0, b"other")?;
        writer.finish()
    };
    let unchanged = |path: &PathBuf| assert_eq!(old, std::fs::read(path).expect("there"));
    crate::cancel::at_every_check(&mut path, write, unchanged);
    assert!(Segment::open(&path).expect("whole").verify().is_ok());
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn values_are_appended_whole_or_not_at_all() {
    let mut column: Column<u32> = vec![1, 2].into();
    let unchanged = |column: &Column<u32>| assert_eq!([1, 2], column[..]);
    let append = |column: &mut Column<u32>| column.append(&[3; 10], &crate::cancel::CancelToken::current());
    crate::cancel::at_every_check(&mut column, append, unchanged);
    assert_eq!(12, column.len());
}
