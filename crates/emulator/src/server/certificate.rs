//! The emulator's own certificate: made once, kept beside its key, trusted by nobody until a user says so.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rcgen::{CertificateParams, DistinguishedName, DnType};

use super::tls::TlsError;
use crate::Timestamp;

/// The names a local client may use.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a certificate is valid: some systems trust none that is valid for more than 825 days.
const VALID_FOR: Duration = DAY.saturating_mul(730);
const RENEWED_AFTER: Duration = DAY.saturating_mul(700);

/// How far the clock of a client may be behind.
const CLOCKS_APART: Duration = DAY;

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

    /// Whether the certificate is old enough to be replaced: some weeks before it ends.
    pub(super) fn is_old(&self, now: Timestamp) -> bool {
        let made = fs::metadata(&self.certificate).and_then(|found| found.modified());
        let made = made.ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        made.is_some_and(|made| Duration::from_micros(now.0).saturating_sub(made) > RENEWED_AFTER)
    }

    /// Makes a certificate and its key, in place of any that are there.
    pub(super) fn make(&self, now: Timestamp) -> Result<(), TlsError> {
        let failed = |error| TlsError::new(&self.certificate, format!("cannot be made: {error}"));
        let signing_key = rcgen::KeyPair::generate().map_err(failed)?;
        let made = params(now).and_then(|params| params.self_signed(&signing_key)).map_err(failed)?;
        if let Some(directory) = self.certificate.parent() {
            fs::create_dir_all(directory)
                .map_err(|error| TlsError::io(directory, "cannot be created", &error))?;
        }
        // The certificate comes last: with it in place, the pair is complete.
        write_new(&self.key, &signing_key.serialize_pem(), Readers::Owner)?;
        write_new(&self.certificate, &made.pem(), Readers::Everybody)
    }
}

/// What the certificate says.
fn params(now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Cosmonaut");
    params.distinguished_name.push(DnType::CommonName, "Cosmonaut emulator");
    let now = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_micros(now.0);
    params.not_before = now - CLOCKS_APART;
    params.not_after = now + VALID_FOR;
    Ok(params)
}

/// Who may read a file.
#[derive(Clone, Copy)]
enum Readers {
    Owner,
    /// A certificate is shown to everybody who connects: others of this machine can only trust what they can read.
    Everybody,
}

/// Writes beside the path and renames, so that nobody ever reads half a file.
fn write_new(path: &Path, text: &str, readers: Readers) -> Result<(), TlsError> {
    let failed = |error| TlsError::io(path, "cannot be written", &error);
    let mut beside = path.to_owned();
    beside.set_extension(format!("pem.{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(
        &mut options,
        match readers {
            Readers::Owner => 0o600,
            Readers::Everybody => 0o644,
        },
    );
    #[cfg(not(unix))]
    let _ = readers;
    let mut file = options.open(&beside).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    drop(file);
    fs::rename(&beside, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_names_its_maker_and_ends_after_two_years() {
        let now = Timestamp(1_493_254_272_000_000);
        let made = params(now).unwrap();
        let name = made.distinguished_name.get(&DnType::CommonName);
        assert_eq!(format!("{name:?}"), "Some(Utf8String(\"Cosmonaut emulator\"))");
        assert_eq!((made.not_before.year(), made.not_after.year()), (2017, 2019));
        assert_eq!(made.not_after - made.not_before, VALID_FOR + CLOCKS_APART);
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_the_users_alone_and_both_files_are_renewed_before_they_end() {
        use std::os::unix::fs::PermissionsExt;
        let directory = std::env::temp_dir().join(format!("cosmonaut-certificate-{}", std::process::id()));
        let files = Files::in_directory(&directory);
        let now = Timestamp(1_493_254_272_000_000);
        files.make(now).unwrap();
        let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&files.key) & 0o777, 0o600);
        // What the umask of whoever runs this takes away is not ours to give.
        assert_eq!(mode(&files.certificate) & 0o400, 0o400);
        assert_eq!(mode(&files.certificate) & 0o133, 0);
        let made = fs::metadata(&files.certificate).unwrap().modified().unwrap();
        let made = Timestamp(made.duration_since(UNIX_EPOCH).unwrap().as_micros() as u64);
        let after = |days: u64| Timestamp(made.0 + days * 24 * 60 * 60 * 1_000_000);
        assert_eq!((files.is_old(after(699)), files.is_old(after(701))), (false, true));
        fs::remove_dir_all(directory).unwrap();
    }
}
