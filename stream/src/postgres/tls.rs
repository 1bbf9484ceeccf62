//! TLS, as far as PostgreSQL's modes differ from what a browser does.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::settings::Encryption;
use crate::error::Error;

/// What opens connections of this kind, unless they are to be plain.
pub fn connector(encryption: &Encryption) -> Result<Option<MakeRustlsConnect>, Error> {
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Tls(error.to_string()))?;
    let config = match encryption {
        Encryption::None => return Ok(None),
        Encryption::VerifyFull(root) => config.with_root_certificates(roots(root)?),
        Encryption::VerifyAuthority(root) => {
            let builder = WebPkiServerVerifier::builder_with_provider(
                Arc::new(roots(root)?),
                Arc::clone(&provider),
            );
            let authority = builder.build().map_err(|error| Error::Tls(error.to_string()))?;
            let anyone = AnyName { authority: Some(authority), provider };
            config.dangerous().with_custom_certificate_verifier(Arc::new(anyone))
        }
        Encryption::Unverified => {
            let anyone = AnyName { authority: None, provider };
            config.dangerous().with_custom_certificate_verifier(Arc::new(anyone))
        }
    };
    Ok(Some(MakeRustlsConnect::new(config.with_no_client_auth())))
}

/// The certificates in a file.
fn roots(path: &Path) -> Result<RootCertStore, Error> {
    let refused = |why: &dyn fmt::Display| {
        Error::Tls(format!("the root certificate {}: {why}", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| refused(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| refused(&error))?;
        roots.add(certificate).map_err(|error| refused(&error))?;
    }
    match roots.is_empty() {
        true => Err(refused(&"no certificate is in the file")),
        false => Ok(roots),
    }
}

/// Accepts a server of any name, and without an authority any server at all. That the server holds the key of the
/// certificate it shows is checked all the same.
#[derive(Debug)]
struct AnyName {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        server: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(server, intermediates, name, ocsp, now) {
            // The name is looked at last, so everything else is in order.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            answer => answer,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
