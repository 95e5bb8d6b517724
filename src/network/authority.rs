//! The run's own certificate authority: in memory, gone with the run.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{NetworkError, install_crypto};

/// Makes the certificate the browser is shown for each host whose traffic is opened.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    /// One key for all leaves: they never leave the process, and making keys is what costs.
    leaf_key: KeyPair,
    /// Only listed hosts get here, so this doesn't grow without end.
    leaves: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl Authority {
    pub fn new() -> Result<Self, NetworkError> {
        install_crypto();
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = named("Rehearsal, this run only");
        set_validity(&mut params);
        let certificate = params.self_signed(&key)?.der().clone();
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate,
            leaf_key: KeyPair::generate()?,
            leaves: Mutex::default(),
        })
    }

    /// For a client that shall trust the run; the browser is told by `acceptInsecureCerts`.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// `host` in canonical form.
    pub(super) fn server_config(&self, host: &str) -> Result<Arc<ServerConfig>, NetworkError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = leaves.get(host) {
            return Ok(known.clone());
        }
        let made = Arc::new(self.make(host)?);
        leaves.insert(host.to_owned(), made.clone());
        Ok(made)
    }

    fn make(&self, host: &str) -> Result<ServerConfig, NetworkError> {
        let mut params = CertificateParams::default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        params.subject_alt_names = vec![match bare.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(host.try_into()?),
        }];
        params.distinguished_name = named("Rehearsal");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        set_validity(&mut params);
        let leaf = params.signed_by(&self.leaf_key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.leaf_key.serialize_der()));
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// From two days ago to a week ahead: a run is shorter, and clocks differ.
fn set_validity(params: &mut CertificateParams) {
    let today = jiff::Timestamp::now()
        .to_zoned_datetime(jiff::tz::TimeZone::UTC)
        .date();
    let day = |offset: i64| {
        let date = today.saturating_add(jiff::Span::new().days(offset));
        rcgen::date_time_ymd(date.year().into(), date.month() as u8, date.day() as u8)
    };
    params.not_before = day(-2);
    params.not_after = day(7);
}
