//! Reads the formats to render in.

use memory_contract::Invalid;
use memory_formats::Format;
use memory_formats::format_from;

/// Reads `formats`, without repetitions.
pub fn formats_from(formats: Vec<i32>) -> Result<Vec<Format>, Invalid> {
    let mut read = Vec::new();
    for (index, format) in formats.into_iter().enumerate() {
        let format = format_from(&format!("formats[{index}]"), format)?;
        if !read.contains(&format) {
            read.push(format);
        }
    }
    Ok(read)
}
