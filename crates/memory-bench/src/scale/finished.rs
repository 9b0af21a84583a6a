//! The sizes that are measured, in a file beside data that is kept.

use std::{fs, io::Write as _, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::of_size::OfSize;
use super::options::Options;
use crate::Failure;

const FILE: &str = "scale.json";

/// The measured sizes, the smallest first.
pub struct Finished {
    pub sizes: Vec<OfSize>,
    /// What made the data.
    made_by: MadeBy,
    /// `None` if the data is temporary.
    file: Option<PathBuf>,
}

/// The options that data depends on.
#[derive(PartialEq, Serialize, Deserialize)]
struct MadeBy {
    sizes: Vec<usize>,
    tenants: usize,
    embed: bool,
}

#[derive(Serialize, Deserialize)]
struct Stored<M, S> {
    made_by: M,
    finished: S,
}

impl Finished {
    /// Reads what a former run in the directory of the options measured. A run with other
    /// options is refused, as it would find other data.
    pub fn read(options: &Options) -> Result<Self, Failure> {
        let made_by = MadeBy {
            sizes: options.sizes.iter().map(|size| size.0).collect(),
            tenants: options.tenants,
            embed: options.embed,
        };
        let file = options.data_dir.as_ref().map(|dir| dir.join(FILE));
        let mut finished = Self {
            sizes: Vec::new(),
            made_by,
            file,
        };
        match &finished.file {
            Some(file) if file.exists() => {
                let stored: Stored<MadeBy, Vec<OfSize>> = serde_json::from_slice(&fs::read(file)?)?;
                if stored.made_by != finished.made_by {
                    let file = file.display();
                    return Err(format!("{file} is of a run with other --sizes, --tenants or --embed; give the same, or another --data-dir").into());
                }
                finished.sizes = stored.finished;
            }
            Some(_) => finished.write()?,
            None => (),
        }
        Ok(finished)
    }

    /// Adds the next size.
    pub fn add(&mut self, measured: OfSize) -> Result<(), Failure> {
        self.sizes.push(measured);
        self.write()
    }

    fn write(&self) -> Result<(), Failure> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir)?;
        }
        let stored = Stored {
            made_by: &self.made_by,
            finished: &self.sizes,
        };
        // Renamed when it is whole: a run that is interrupted here does not lose what was measured.
        let draft = file.with_extension("draft");
        let mut whole = fs::File::create(&draft)?;
        whole.write_all(&serde_json::to_vec(&stored)?)?;
        whole.sync_all()?;
        Ok(fs::rename(draft, file)?)
    }
}
