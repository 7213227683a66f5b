//! A zip file of one executable, not compressed.

/// The archive that holds `content` as the executable `name`.
pub(crate) fn stored(name: &str, content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).expect("a program is shorter than 4 GiB");
    let name_length = u16::try_from(name.len()).expect("a short name");
    // Version needed, flags, method, time, date (1 January 2026), check sum, both sizes, name and extra lengths.
    let mut common = Vec::new();
    for short in [20_u16, 0, 0, 0, (46 << 9) | (1 << 5) | 1] {
        common.extend(short.to_le_bytes());
    }
    for long in [crc32(content), size, size] {
        common.extend(long.to_le_bytes());
    }
    common.extend(name_length.to_le_bytes());
    common.extend(0_u16.to_le_bytes());

    let mut zip = Vec::with_capacity(content.len() + 256);
    zip.extend(b"PK\x03\x04");
    zip.extend(&common);
    zip.extend(name.as_bytes());
    zip.extend(content);
    let directory = u32::try_from(zip.len()).expect("a program is shorter than 4 GiB");
    zip.extend(b"PK\x01\x02");
    // Made on Unix: the mode stands in the upper half of the external attributes.
    zip.extend(((3_u16 << 8) | 20).to_le_bytes());
    zip.extend(&common);
    zip.extend([0; 6]);
    zip.extend((0o100_755_u32 << 16).to_le_bytes());
    zip.extend(0_u32.to_le_bytes());
    zip.extend(name.as_bytes());
    let directory_size = u32::try_from(zip.len()).expect("a program is shorter than 4 GiB") - directory;
    zip.extend(b"PK\x05\x06");
    zip.extend([0; 4]);
    for entries in [1_u16, 1] {
        zip.extend(entries.to_le_bytes());
    }
    zip.extend(directory_size.to_le_bytes());
    zip.extend(directory.to_le_bytes());
    zip.extend(0_u16.to_le_bytes());
    zip
}

/// The check sum of zip files (CRC-32, reflected, polynomial EDB88320).
fn crc32(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256)
        .map(|n| (0..8).fold(n, |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 }))
        .collect();
    !bytes
        .iter()
        .fold(!0, |c: u32, b| table[((c ^ u32::from(*b)) & 0xff) as usize] ^ (c >> 8))
}

#[test]
fn a_check_sum_is_the_one_that_everybody_computes() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}
