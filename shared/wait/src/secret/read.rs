//! Reading a secret where it is kept.

use aws_sdk_kms::primitives::Blob;

use super::Unread;
use super::reference::Reference;
use crate::aws::{Aws, Fault, FaultKind};

/// The context that the Lambda console encrypts the environment of a function with.
const CONTEXT: &str = "LambdaFunctionName";

/// The text behind a reference, as it is kept.
pub(super) async fn text(aws: &Aws, function: Option<&str>, reference: &Reference) -> Result<String, Unread> {
    let region = reference.region();
    match reference {
        Reference::Kms(ciphertext) => {
            let bytes = decrypt(aws, function, ciphertext)
                .await
                .map_err(|fault| unread(reference, &fault))?;
            String::from_utf8(bytes).map_err(|_| Unread::Never(format!("{reference} decrypts to no text")))
        }
        Reference::Ssm(name) => {
            let asked = aws
                .ssm(region)
                .get_parameter()
                .name(name)
                .with_decryption(true)
                .send()
                .await;
            let answer = asked.map_err(|e| unread(reference, &Fault::of(&e)))?;
            let value = answer.parameter.and_then(|parameter| parameter.value);
            value.ok_or_else(|| Unread::Never(format!("{reference} has no value")))
        }
        Reference::SecretsManager { id, field } => {
            let asked = aws.secretsmanager(region).get_secret_value().secret_id(id).send().await;
            let answer = asked.map_err(|e| unread(reference, &Fault::of(&e)))?;
            let whole = answer
                .secret_string
                .ok_or_else(|| Unread::Never(format!("{reference} holds bytes: it takes a text")))?;
            match field {
                None => Ok(whole),
                Some(field) => of_field(&whole, field).ok_or_else(|| {
                    Unread::Never(format!("{reference} is not a text in a JSON object: it takes ID#FIELD"))
                }),
            }
        }
    }
}

/// The plaintext: with the console's context where this is a function, then without any.
async fn decrypt(aws: &Aws, function: Option<&str>, ciphertext: &[u8]) -> Result<Vec<u8>, Fault> {
    let ask = async |context: Option<&str>| {
        let mut request = aws.kms().decrypt().ciphertext_blob(Blob::new(ciphertext));
        if let Some(name) = context {
            request = request.encryption_context(CONTEXT, name);
        }
        let answer = request.send().await.map_err(|e| Fault::of(&e))?;
        Ok(answer.plaintext.map(Blob::into_inner).unwrap_or_default())
    };
    match function {
        None => ask(None).await,
        Some(name) => match ask(Some(name)).await {
            // Encrypted with another context, or with none.
            Err(fault) if fault.code.as_deref() == Some("InvalidCiphertextException") => ask(None).await,
            answer => answer,
        },
    }
}

/// A text field of a JSON object.
fn of_field(whole: &str, field: &str) -> Option<String> {
    let whole: serde_json::Value = serde_json::from_str(whole).ok()?;
    whole.get(field)?.as_str().map(str::to_owned)
}

/// What a failed request means for whoever needs the secret, with what to do about it.
fn unread(reference: &Reference, fault: &Fault) -> Unread {
    let words = format!("{reference} cannot be read: {fault}");
    if fault.may_pass() {
        return Unread::Later(words);
    }
    let (action, key) = match reference {
        Reference::Kms(_) => ("kms:Decrypt on its key", ""),
        Reference::Ssm(_) => (
            "ssm:GetParameter on it",
            ", and kms:Decrypt on the key that it is encrypted with",
        ),
        Reference::SecretsManager { .. } => (
            "secretsmanager:GetSecretValue on it",
            ", and kms:Decrypt on the key that it is encrypted with",
        ),
    };
    let cure = match fault.stem() {
        _ if fault.kind == FaultKind::Denied => format!("allow {action}{key}"),
        Some("DisabledException" | "KMSInvalidStateException") => {
            format!("enable its key, and allow {action}")
        }
        Some("InvalidCiphertextException" | "IncorrectKeyException" | "NotFoundException") => {
            "it was encrypted for another context, or with a key of another region or account".to_owned()
        }
        _ => format!("it has to be there, in this region, with {action} allowed"),
    };
    Unread::Never(format!("{words} ({cure})"))
}
