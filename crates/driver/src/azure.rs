//! What stands behind the driver's seams from `azure_core`: any of its credentials, and any of its HTTP
//! clients.

use std::sync::Arc;
use std::time::Duration;

use azure_core::credentials::TokenCredential;
use azure_core::error::ErrorKind;
use azure_core::http::{Method, Request as AzureRequest, Url};
use bytes::Bytes;
use cosmonaut_policy::SharedError;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};

use crate::credential::{AccessToken, Credential, TokenProvider, TokenRefused, TokenRequest};
use crate::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, RequestSentStatus, SendProgress,
    TransportError, TransportErrorKind,
};

impl Credential {
    /// Tokens from any credential of `azure_core`, so from all of `azure_identity`. They are kept by the
    /// driver and fetched anew ahead of their expiry.
    ///
    /// Tokens that can be revoked (`enable_token_revocation`) need a [`TokenProvider`] instead: `azure_core` cannot
    /// pass on what the service wants a new token to claim.
    pub fn azure(credential: Arc<dyn TokenCredential>) -> Self {
        Self::tokens(Arc::new(AzureTokens(credential)))
    }
}

struct AzureTokens(Arc<dyn TokenCredential>);

impl TokenProvider for AzureTokens {
    /// `azure_core` has no room for claims, nor for asking for tokens that can be revoked: its `TokenRequestOptions`
    /// hold the options of the HTTP call alone. A credential that keeps tokens gives the same one again.
    fn token<'a>(&'a self, request: TokenRequest<'a>) -> BoxFuture<'a, Result<AccessToken, SharedError>> {
        Box::pin(async move {
            let token = self.0.get_token(&[request.scope], None).await.map_err(token_error)?;
            let expires_on = u64::try_from(token.expires_on.unix_timestamp()).unwrap_or(0);
            Ok(AccessToken {
                secret: token.token.secret().to_owned(),
                expires_on: Duration::from_secs(expires_on),
            })
        })
    }
}

/// Entra's 401 and 403 are final, wherever among the sources a credential has put them.
fn token_error(error: azure_core::Error) -> SharedError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(cause) = source {
        let status = cause.downcast_ref::<azure_core::Error>().and_then(azure_core::Error::http_status);
        if status.is_some_and(|status| matches!(u16::from(status), 401 | 403)) {
            return Arc::new(TokenRefused::new(error));
        }
        source = cause.source();
    }
    Arc::new(error)
}

/// Clients of `azure_core` in place of the driver's own.
///
/// Such a client does not say how far a request has come, so one that fails counts as perhaps sent unless
/// the client reports that no connection could be made.
pub struct AzureHttpClientFactory {
    make: Box<dyn Fn() -> Arc<dyn azure_core::http::HttpClient> + Send + Sync>,
    version: HttpVersion,
}

impl AzureHttpClientFactory {
    /// One client per connection, where `version` is HTTP/2; one for all, which pools by itself, where it is
    /// HTTP/1.1. Each call of `make` gives a client with connections of its own.
    pub fn new(
        version: HttpVersion,
        make: impl Fn() -> Arc<dyn azure_core::http::HttpClient> + Send + Sync + 'static,
    ) -> Self {
        Self { make: Box::new(make), version }
    }
}

impl HttpClientFactory for AzureHttpClientFactory {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(self.version)))
    }

    fn create(&self, server: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(AzureHttpClient { inner: (self.make)(), server: server.to_string().into() })
    }
}

struct AzureHttpClient {
    inner: Arc<dyn azure_core::http::HttpClient>,
    server: Arc<str>,
}

impl HttpClient for AzureHttpClient {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let request =
                to_azure(request).map_err(|error| self.failed(RequestSentStatus::NotSent, error))?;
            progress.hand_over();
            let response =
                self.inner.execute_request(&request).await.map_err(|error| self.unanswered(error))?;
            let (status, headers, body) = response.deconstruct();
            let body = body.collect().await.map_err(|error| self.failed(RequestSentStatus::Sent, error))?;
            let mut answer = Response::new(body);
            *answer.status_mut() = StatusCode::from_u16(u16::from(status))
                .map_err(|error| self.failed(RequestSentStatus::Sent, error))?;
            *answer.headers_mut() = from_azure(&headers);
            Ok(answer)
        })
    }
}

impl AzureHttpClient {
    fn unanswered(&self, error: azure_core::Error) -> TransportError {
        match error.kind() {
            ErrorKind::Connection => {
                let kind = TransportErrorKind::Unreachable;
                TransportError::new(kind, RequestSentStatus::NotSent, Arc::clone(&self.server))
                    .caused_by(error)
            }
            _ => self.failed(RequestSentStatus::Unknown, error),
        }
    }

    fn failed(
        &self,
        sent: RequestSentStatus,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> TransportError {
        TransportError::new(TransportErrorKind::Disconnected, sent, Arc::clone(&self.server)).caused_by(error)
    }
}

fn to_azure(request: Request<Bytes>) -> Result<AzureRequest, Box<dyn std::error::Error + Send + Sync>> {
    let (head, body) = request.into_parts();
    let url: Url = head.uri.to_string().parse()?;
    let method: Method = head.method.as_str().parse()?;
    let mut request = AzureRequest::new(url, method);
    for (name, value) in &head.headers {
        request.insert_header(name.as_str().to_owned(), value.to_str()?.to_owned());
    }
    request.set_body(body);
    Ok(request)
}

/// A header that is none for `http` cannot be one of the protocol's, and is left out.
fn from_azure(headers: &azure_core::http::headers::Headers) -> HeaderMap {
    let converted = headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::try_from(name.as_str()).ok()?;
        Some((name, HeaderValue::try_from(value.as_str()).ok()?))
    });
    converted.collect()
}

#[cfg(test)]
mod tests {
    use azure_core::http::AsyncRawResponse;
    use azure_core::http::headers::Headers;

    use super::*;

    #[test]
    fn requests_and_headers_survive_the_crossing() {
        let request = Request::builder()
            .method("PATCH")
            .uri("https://a.example/dbs/d%20e")
            .header("x-ms-date", "now")
            .body(Bytes::from_static(b"{}"))
            .unwrap();
        let crossed = to_azure(request).unwrap();
        assert_eq!(crossed.url().as_str(), "https://a.example/dbs/d%20e");
        assert_eq!(crossed.method(), Method::Patch);
        let mut headers = Headers::new();
        headers.insert("x-ms-substatus", "3");
        assert_eq!(from_azure(&headers)["x-ms-substatus"], "3");
    }

    #[test]
    fn only_a_no_of_entra_is_a_refusal() {
        let answered = |code: u16| {
            let status = azure_core::http::StatusCode::from(code);
            azure_core::Error::new(
                ErrorKind::HttpResponse { status, error_code: None, raw_response: None },
                "AADSTS500011",
            )
        };
        for (case, error, refused) in [
            ("401", answered(401), true),
            ("403", answered(403), true),
            (
                "a credential's error about 401",
                azure_core::Error::new(ErrorKind::Credential, answered(401)),
                true,
            ),
            ("400", answered(400), false),
            ("no connection", azure_core::Error::new(ErrorKind::Connection, "refused"), false),
        ] {
            assert_eq!(token_error(error).is::<TokenRefused>(), refused, "{case}");
        }
    }

    /// Answers or fails as it is told.
    #[derive(Debug)]
    struct Scripted(Option<ErrorKind>);

    impl azure_core::http::HttpClient for Scripted {
        fn execute_request<'a, 'b, 'c>(
            &'a self,
            _: &'b AzureRequest,
        ) -> std::pin::Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'c>>
        where
            'a: 'c,
            'b: 'c,
            Self: 'c,
        {
            Box::pin(async move {
                match &self.0 {
                    Some(ErrorKind::Connection) => {
                        Err(azure_core::Error::new(ErrorKind::Connection, "refused"))
                    }
                    Some(_) => Err(azure_core::Error::new(ErrorKind::Io, "reset")),
                    None => {
                        let status = azure_core::http::StatusCode::from(201);
                        Ok(AsyncRawResponse::from_bytes(status, Headers::new(), Bytes::from_static(b"made")))
                    }
                }
            })
        }
    }

    #[tokio::test]
    async fn only_a_refused_connection_is_known_not_to_have_been_seen() {
        for (fault, expected) in [
            (None, Ok(201)),
            (Some(ErrorKind::Connection), Err((TransportErrorKind::Unreachable, RequestSentStatus::NotSent))),
            (Some(ErrorKind::Io), Err((TransportErrorKind::Disconnected, RequestSentStatus::Unknown))),
        ] {
            let fails = fault.is_some();
            let refuses = matches!(fault, Some(ErrorKind::Connection));
            let factory = AzureHttpClientFactory::new(HttpVersion::Http1, move || {
                let kind = if refuses { ErrorKind::Connection } else { ErrorKind::Io };
                Arc::new(Scripted(fails.then_some(kind)))
            });
            let server = Authority::of(&"https://a.example".parse().unwrap()).unwrap();
            let client = factory.create(&server, HttpVersion::Http1);
            let request = Request::builder().uri("https://a.example/").body(Bytes::new()).unwrap();
            let result = client.send(request, &SendProgress::new()).await;
            let seen = result
                .map(|response| response.status().as_u16())
                .map_err(|error| (error.kind(), error.sent()));
            assert_eq!(seen, expected);
        }
    }
}
