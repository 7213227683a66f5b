//! To come.

/// To come.
#[derive(Debug)]
pub struct S3Store;
/// To come.
#[derive(Debug)]
pub struct Encryption;
