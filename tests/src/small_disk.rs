//! A small file system in an image file, for one server alone, that a test fills.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use tokio::time::sleep;

use crate::Skipped;

/// Bytes of the file system.
const SIZE: u64 = 1024 * 1024 * 1024;
/// Until this much is free the disk fills at once, then by steps of [`STEP`].
const NEARLY_FULL: u64 = 192 * 1024 * 1024;
const STEP: u64 = 4 * 1024 * 1024;
const STEP_PAUSE: Duration = Duration::from_millis(25);
/// Mounts the image `$0` on the directory `$1`, and executes the words after these.
const MOUNT: &str = "mount -o loop \"$0\" \"$1\" && shift && exec \"$@\"";

/// A file system that only the processes see which are started under [`SmallDisk::under`].
/// It ends with the last of them.
pub struct SmallDisk {
    image: PathBuf,
    mounted_on: PathBuf,
}

impl SmallDisk {
    /// Makes an empty one.
    ///
    /// # Errors
    /// If it cannot be mounted on this machine.
    pub fn new(image: PathBuf, mounted_on: PathBuf) -> Result<Self, Skipped> {
        let file = File::create(&image).unwrap();
        file.set_len(SIZE).unwrap();
        fs::create_dir_all(&mounted_on).unwrap();
        let disk = Self { image, mounted_on };
        let mut make = Command::new("mke2fs");
        // No blocks are reserved for root.
        make.args(["-q", "-t", "ext4", "-m", "0"]).arg(&disk.image);
        let words = disk.under();
        let mut mount = Command::new(&words[0]);
        mount.args(&words[1..]).arg("true");
        for mut command in [make, mount] {
            let output = command
                .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
                .output();
            let problem = match output {
                Ok(output) if output.status.success() => continue,
                Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                Err(error) => error.to_string(),
            };
            let program = command.get_program().display();
            return Err(Skipped(format!(
                "a file system in an image cannot be mounted here (root and a loop device are \
                 needed): {program}: {problem}"
            )));
        }
        Ok(disk)
    }

    /// The command that executes the words after it with this file system mounted.
    pub fn under(&self) -> Vec<String> {
        let (image, mounted_on) = (self.image.display(), self.mounted_on.display());
        ["unshare", "--mount", "sh", "-c", MOUNT]
            .map(str::to_owned)
            .into_iter()
            .chain([image.to_string(), mounted_on.to_string()])
            .collect()
    }

    /// Fills it in the sight of a process, within one or two seconds, until this many bytes
    /// are left.
    pub async fn fill(&self, pid: i32, left: u64) {
        let ballast = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.ballast(pid))
            .unwrap();
        loop {
            let free = free_bytes(&self.root(pid));
            let Some(excess) = free.checked_sub(left).filter(|excess| *excess > 0) else {
                return;
            };
            let bytes = match free.checked_sub(NEARLY_FULL) {
                Some(bytes) if bytes > 0 => bytes,
                _ => excess.min(STEP),
            };
            let length = ballast.metadata().unwrap().len();
            // Others take space meanwhile, until none is left.
            if fallocate(&ballast, FallocateFlags::empty(), length, bytes).is_err() {
                return;
            }
            sleep(STEP_PAUSE).await;
        }
    }

    /// Frees what [`Self::fill`] took.
    pub fn free(&self, pid: i32) {
        fs::remove_file(self.ballast(pid)).unwrap();
    }

    /// The mounted directory as a process sees it.
    fn root(&self, pid: i32) -> PathBuf {
        let path = self.mounted_on.strip_prefix("/").unwrap();
        Path::new("/proc")
            .join(pid.to_string())
            .join("root")
            .join(path)
    }

    fn ballast(&self, pid: i32) -> PathBuf {
        self.root(pid).join("ballast")
    }
}

fn free_bytes(path: &Path) -> u64 {
    let disk = statvfs(path).unwrap();
    disk.f_bavail * disk.f_frsize
}
