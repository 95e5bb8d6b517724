//! Whom the proxy believes upstream: the system's roots, and a file for people behind an
//! inspecting proxy of their own. Verification is never relaxed, least of all because the
//! browser has been told to accept our certificates.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::{NetworkError, install_crypto};

/// Cheap to clone; made once a run.
#[derive(Clone)]
pub struct Trust {
    pub(super) config: Arc<ClientConfig>,
    roots: usize,
}

impl Trust {
    /// System roots plus the certificates of a PEM file (its contents), if there is one.
    pub fn system(ca_file: Option<&[u8]>) -> Result<Self, NetworkError> {
        static SYSTEM: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
        let system = SYSTEM.get_or_init(|| rustls_native_certs::load_native_certs().certs);
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(system.iter().cloned());
        if let Some(pem) = ca_file {
            add_file(&mut roots, pem)?;
        }
        Ok(Self::from_roots(roots))
    }

    /// These and no others.
    pub fn only(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        Self::from_roots(roots)
    }

    /// How many roots there are; none means that no HTTPS site can be reached.
    pub fn roots(&self) -> usize {
        self.roots
    }

    fn from_roots(roots: RootCertStore) -> Self {
        install_crypto();
        let count = roots.len();
        let mut config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self {
            config: Arc::new(config),
            roots: count,
        }
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trust").field("roots", &self.roots).finish()
    }
}

fn add_file(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), NetworkError> {
    let failed = |reason: String| NetworkError::CaFile { reason };
    let mut found = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| failed(error.to_string()))?;
        found += 1;
    }
    match found {
        0 => Err(failed("no `BEGIN CERTIFICATE` in it".to_owned())),
        _ => Ok(()),
    }
}
