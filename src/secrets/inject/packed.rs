//! A value inside packed files and pictures.

use std::io::Write;

use flate2::Compression;

/// Name of the container and its bytes.
pub fn packed(value: &[u8]) -> Vec<(String, Vec<u8>)> {
    let page = [b"before ".as_slice(), value, b" after"].concat();
    let gzip = {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
        writer.write_all(&page).and_then(|()| writer.finish())
    }
    .expect("memory takes all");
    let named = {
        let name: Vec<u8> = value.iter().copied().filter(|b| *b != 0).collect();
        let builder = flate2::GzBuilder::new().filename(name);
        builder.write(Vec::new(), Compression::fast()).finish()
    }
    .expect("memory takes all");
    let text = |kind: &[u8; 4], data: &[u8]| png(kind, data);
    let keyed = |middle: &[u8], data: &[u8]| [b"Comment".as_slice(), middle, data].concat();
    let mut out = vec![
        ("zlib", zlib(&page)),
        ("gzip in gzip", {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
            writer
                .write_all(&gzip)
                .and_then(|()| writer.finish())
                .expect("memory takes all")
        }),
        ("gzip", gzip),
        ("gzip file name", named),
        ("zip, stored", zip(b"a.txt", 0, &page)),
        ("zip, deflated", zip(b"a.txt", 8, &page)),
        ("zip, name", zip(value, 0, b"x")),
        ("PNG tEXt", text(b"tEXt", &keyed(b"\0", &page))),
        ("PNG zTXt", text(b"zTXt", &keyed(b"\0\0", &zlib(&page)))),
        ("PNG iTXt", text(b"iTXt", &keyed(b"\0\0\0\0\0", &page))),
        (
            "PNG iTXt, packed",
            text(b"iTXt", &keyed(b"\0\x01\0\0\0", &zlib(&page))),
        ),
        ("PNG iCCP", text(b"iCCP", &keyed(b"\0\0", &zlib(&page)))),
        ("PNG eXIf", text(b"eXIf", &page)),
        (
            "PNG, behind",
            [png(b"tEXt", b"a\0b"), page.clone()].concat(),
        ),
        (
            "JPEG comment",
            [
                b"\xff\xd8\xff\xfe".as_slice(),
                &((page.len() + 2) as u16).to_be_bytes(),
                &page,
                b"\xff\xd9",
            ]
            .concat(),
        ),
        (
            "PDF",
            [b"%PDF-1.7\n1 0 obj (", page.as_slice(), b")\n"].concat(),
        ),
        (
            "PDF stream",
            [
                b"%PDF-1.7\n1 0 obj <<>> stream\r\n",
                zlib(&page).as_slice(),
                b"\nendstream",
            ]
            .concat(),
        ),
        ("tar", [[b'a'; 512].as_slice(), &page, &[0; 512]].concat()),
        (
            "SQLite",
            [b"SQLite format 3\0".as_slice(), &[0; 100], &page, &[0; 100]].concat(),
        ),
    ];
    out.dedup_by(|a, b| a.0 == b.0);
    out.into_iter()
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
    writer
        .write_all(bytes)
        .and_then(|()| writer.finish())
        .expect("memory takes all")
}

/// A chunk of a PNG.
pub fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(data);
    let length = (data.len() as u32).to_be_bytes();
    [&length, kind.as_slice(), data, &crc.sum().to_be_bytes()].concat()
}

/// One grey pixel and one further chunk.
fn png(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]),
        chunk(kind, data),
        chunk(b"IDAT", &zlib(&[0, 128])),
        chunk(b"IEND", b""),
    ]
    .concat()
}

/// A zip file of one entry, sizes in the directory only, as streams are written.
fn zip(name: &[u8], method: u8, data: &[u8]) -> Vec<u8> {
    let packed = match method {
        0 => data.to_vec(),
        _ => {
            let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), Compression::best());
            writer
                .write_all(data)
                .and_then(|()| writer.finish())
                .expect("memory takes all")
        }
    };
    let name_length = (name.len() as u16).to_le_bytes();
    let local = [
        b"PK\x03\x04\x14\0\x08\0",
        &[method, 0][..],
        &[0; 16],
        &name_length,
        &[0; 2],
        name,
    ]
    .concat();
    let sizes = [
        (packed.len() as u32).to_le_bytes(),
        (data.len() as u32).to_le_bytes(),
    ]
    .concat();
    let directory = [
        b"PK\x01\x02\x14\0\x14\0\x08\0",
        &[method, 0][..],
        &[0; 8],
        &sizes,
        &name_length,
        &[0; 16],
        name,
    ]
    .concat();
    let at = (local.len() + packed.len()) as u32;
    let end = [
        b"PK\x05\x06\0\0\0\0\x01\0\x01\0",
        &(directory.len() as u32).to_le_bytes()[..],
        &at.to_le_bytes(),
        &[0; 2],
    ]
    .concat();
    [local, packed, directory, end].concat()
}
