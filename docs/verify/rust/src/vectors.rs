//! Runs the verifier over the test vectors: cargo test

use crate::{PublicKey, Refused, Verifier};
use serde_json::Value;

#[test]
fn vectors() {
    let file = std::env::var("VECTORS").unwrap_or("../../../test/vectors/vectors.json".into());
    let vectors: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let wrong: Vec<String> = vectors
        .iter()
        .filter(|vector| verdict(vector) != vector["expected"])
        .map(|vector| {
            let (name, expected) = (&vector["name"], &vector["expected"]);
            format!("{name}: {} instead of {expected}", verdict(vector))
        })
        .collect();
    println!("{} vectors", vectors.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn verdict(vector: &Value) -> &'static str {
    let text = |member: &str| vector[member].as_str();
    let time = |text: &str| humantime::parse_rfc3339(text).unwrap();
    let file = match text("licenseBase64") {
        Some(base64) => data_encoding::BASE64.decode(base64.as_bytes()).unwrap(),
        None => text("license").unwrap().as_bytes().to_vec(),
    };
    let verifier = Verifier {
        key: PublicKey::parse(text("publicKeyPem").unwrap()).unwrap(),
        app: text("app").unwrap().into(),
        fingerprint: text("fingerprint").unwrap().into(),
    };
    match verifier.verify(
        &file,
        time(text("now").unwrap()),
        text("lastSeen").map(time),
    ) {
        Ok(_) => "ok",
        Err(Refused(reason)) => reason,
    }
}
