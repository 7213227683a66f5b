//! As much of S3 as the demo needs: objects are put, looked at and deleted; every bucket exists.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::{Method, StatusCode, Uri};

/// The objects, by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Bucket {
    paths: Arc<Mutex<BTreeSet<String>>>,
}

impl Bucket {
    /// The server's answers.
    pub(super) fn router(&self) -> Router {
        let bucket = self.clone();
        Router::new().fallback(move |method: Method, uri: Uri| async move { bucket.answer(&method, uri.path()) })
    }

    fn answer(&self, method: &Method, path: &str) -> StatusCode {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let is_bucket = !path.trim_matches('/').contains('/');
        match method.as_str() {
            "PUT" => {
                paths.insert(path.to_owned());
                StatusCode::OK
            }
            "DELETE" => {
                paths.remove(path);
                StatusCode::NO_CONTENT
            }
            "HEAD" if is_bucket || paths.contains(path) => StatusCode::OK,
            "HEAD" => StatusCode::NOT_FOUND,
            _ => StatusCode::NOT_IMPLEMENTED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_there_from_put_to_delete_in_a_bucket_that_always_is() {
        let bucket = Bucket::default();
        let ask = |method: Method, path: &str| bucket.answer(&method, path).as_u16();
        assert_eq!(ask(Method::HEAD, "/b/k"), 404);
        assert_eq!(ask(Method::PUT, "/b/k"), 200);
        assert_eq!(ask(Method::HEAD, "/b/k"), 200);
        assert_eq!(ask(Method::DELETE, "/b/k"), 204);
        assert_eq!(ask(Method::HEAD, "/b/k"), 404);
        assert_eq!((ask(Method::HEAD, "/b"), ask(Method::HEAD, "/b/")), (200, 200));
    }
}
