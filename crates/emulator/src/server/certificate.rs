//! The emulator's own certificate: made once, kept beside its key, trusted by nobody until a user says so.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::tls::TlsError;

/// The names a local client may use.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Where the certificate and its key are kept.
pub(super) struct Files {
    /// The certificate, for the server and for those who want to trust it.
    pub(super) certificate: PathBuf,
    /// The key, readable by the user alone.
    pub(super) key: PathBuf,
}

impl Files {
    /// The files in a directory, which need not exist yet.
    pub(super) fn in_directory(directory: &Path) -> Self {
        Self { certificate: directory.join("certificate.pem"), key: directory.join("certificate-key.pem") }
    }

    /// Makes a certificate and its key, in place of any that are there.
    pub(super) fn make(&self) -> Result<(), TlsError> {
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned))
            .map_err(|error| TlsError::new(&self.certificate, format!("cannot be made: {error}")))?;
        if let Some(directory) = self.certificate.parent() {
            fs::create_dir_all(directory)
                .map_err(|error| TlsError::io(directory, "cannot be created", &error))?;
        }
        // The certificate comes last: with it in place, the pair is complete.
        write_new(&self.key, &made.signing_key.serialize_pem())?;
        write_new(&self.certificate, &made.cert.pem())
    }
}

/// Writes beside the path and renames, so that nobody ever reads half a file.
fn write_new(path: &Path, text: &str) -> Result<(), TlsError> {
    let failed = |error| TlsError::io(path, "cannot be written", &error);
    let mut beside = path.to_owned();
    beside.set_extension(format!("pem.{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    drop(file);
    fs::rename(&beside, path).map_err(failed)
}
