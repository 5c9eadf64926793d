//! Verifies signed licenses offline. ring checks the signature, serde_json reads what was signed.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::digest::{digest, SHA256};
use ring::signature::{UnparsedPublicKey, ECDSA_P256_SHA256_FIXED};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::process::ExitCode;
use std::time::SystemTime;

#[cfg(test)]
mod vectors;

const USAGE: &str = r#"usage: verify-license LICENSE.json PUBLIC_KEY.pem APP FINGERPRINT [--last-seen TIME]

LICENSE.json holds a license, or the whole answer of an activation. Prints "ok", or why the license is refused; the
exit status is 0 or 1, and 2 if something else is wrong. Key, app and fingerprint are the verifier's own: nothing in
the license is trusted to say them. TIME is the last time that was seen, such as 2026-01-02T03:04:05.678Z."#;

/// One of the codes in docs/verifying.md.
#[derive(Debug, PartialEq)]
pub struct Refused(pub &'static str);

const MALFORMED: Refused = Refused("malformed");

pub type Members = BTreeMap<String, Json>;

/// What is built into the application.
pub struct Verifier {
    pub key: PublicKey,
    pub app: String,
    pub fingerprint: String,
}

impl Verifier {
    /// The license, if it is good. Use nothing of the file but what this gives back. `last_seen` is the latest time
    /// that the application has ever seen: keep it, and give it the next time.
    pub fn verify(
        &self,
        file: &[u8],
        now: SystemTime,
        last_seen: Option<SystemTime>,
    ) -> Result<Members, Refused> {
        let mut license = read_license(file)?;
        let signature = license.remove("signature");
        let signed = canonical(&license)?;
        let text = |member: &str| license.get(member).and_then(Json::as_text);

        // The algorithm is the verifier's choice, and so is the key: the license may only agree.
        require(text("alg") == Some("ES256"), "wrong_algorithm")?;
        require(text("kid") == Some(&self.key.kid()), "unknown_key")?;
        let signature = signature.as_ref().and_then(Json::as_text);
        require(self.key.has_signed(&signed, signature), "bad_signature")?;

        require(text("app") == Some(&self.app), "wrong_app")?;
        require(
            text("machineFingerprint") == Some(&self.fingerprint),
            "wrong_machine",
        )?;
        let has_end =
            license.contains_key("expiresAt") || license.contains_key("leaseExpiresAt");
        require(!has_end || last_seen <= Some(now), "clock_set_back")?; // None is less than any time
        let grace = license.get("graceEndsAt");
        let is_in_grace = grace.is_some() && !has_passed(grace, now)?;
        require(
            !has_passed(license.get("expiresAt"), now)? || is_in_grace,
            "expired",
        )?;
        require(
            !has_passed(license.get("leaseExpiresAt"), now)?,
            "lease_over",
        )?;
        Ok(license)
    }
}

fn require(condition: bool, reason: &'static str) -> Result<(), Refused> {
    if condition {
        Ok(())
    } else {
        Err(Refused(reason))
    }
}

fn read_license(file: &[u8]) -> Result<Members, Refused> {
    match serde_json::from_slice(file) {
        Ok(Json::Object(mut content)) => match content.remove("license") {
            None => Ok(content),
            Some(Json::Object(license)) => Ok(license), // in the whole answer of an activation
            Some(_) => Err(MALFORMED),
        },
        _ => Err(MALFORMED),
    }
}

/// JSON as far as every reader would understand it alike: serde_json's own value keeps the last of two members of one
/// name, and takes numbers that others round.
#[derive(Debug)]
pub enum Json {
    Object(Members),
    Text(String),
    Integer(i64),
    List(Vec<Json>),
    /// Booleans and null, which are in no license.
    Other,
}

impl Json {
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("what every reader would understand alike")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Members::new();
        while let Some((name, value)) = map.next_entry()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a member is there twice"));
            }
        }
        Ok(Json::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    // There is no visit_f64: 1e2, 1.0 and -0 are no integers to serde_json.
    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        if number.unsigned_abs() >= 1 << 53 {
            return Err(E::custom("some readers would round it"));
        }
        Ok(Json::Integer(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        self.visit_i64(i64::try_from(number).map_err(E::custom)?)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }
}

/// The RFC 8785 form of what a license is made of: objects with simple names, lists, strings and integers.
fn canonical(members: &Members) -> Result<String, Refused> {
    let mut parts = Vec::new();
    for (name, value) in members {
        require(is_simple(name), MALFORMED.0)?;
        parts.push(format!("{}:{}", quote(name)?, canonical_value(value)?));
    }
    Ok(format!("{{{}}}", parts.join(",")))
}

fn canonical_value(value: &Json) -> Result<String, Refused> {
    match value {
        Json::Object(members) => canonical(members),
        Json::List(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(canonical_value).collect();
            Ok(format!("[{}]", items?.join(",")))
        }
        Json::Text(text) => quote(text),
        Json::Integer(number) => Ok(number.to_string()),
        Json::Other => Err(MALFORMED),
    }
}

fn quote(text: &str) -> Result<String, Refused> {
    serde_json::to_string(text).map_err(|_| MALFORMED)
}

fn is_simple(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .chars()
            .all(|each| each.is_ascii_alphanumeric() || "._-".contains(each))
}

/// Times are all written alike, so that the order of the texts is that of the times.
fn has_passed(time: Option<&Json>, now: SystemTime) -> Result<bool, Refused> {
    let form = b"0000-00-00T00:00:00.000Z";
    let is_like = |(byte, &like): (u8, &u8)| {
        if like == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == like
        }
    };
    match time.map(Json::as_text) {
        None => Ok(false),
        Some(Some(text)) if text.len() == form.len() && text.bytes().zip(form).all(is_like) => {
            Ok(text <= humantime::format_rfc3339_millis(now).to_string().as_str())
        }
        _ => Err(MALFORMED),
    }
}

/// A P-256 public key: a point, uncompressed.
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// Reads SubjectPublicKeyInfo in PEM. The beginning says that it is an uncompressed point of P-256.
    pub fn parse(pem: &str) -> Option<PublicKey> {
        let base64: String = pem
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('-'))
            .collect();
        let spki = BASE64.decode(base64.as_bytes()).ok()?;
        let is_p256 =
            base64.starts_with("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE") && spki.len() == 91;
        is_p256.then(|| PublicKey(spki[26..].to_vec()))
    }

    /// The id of the key (RFC 7638).
    fn kid(&self) -> String {
        let (x, y) = (
            BASE64URL_NOPAD.encode(&self.0[1..33]),
            BASE64URL_NOPAD.encode(&self.0[33..]),
        );
        let jwk = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        BASE64URL_NOPAD.encode(digest(&SHA256, jwk.as_bytes()).as_ref())
    }

    /// Whether this is its signature: 64 bytes r||s in base64url, without a bit left over, which data_encoding checks.
    fn has_signed(&self, message: &str, signature: Option<&str>) -> bool {
        let bytes = signature.map(|text| BASE64URL_NOPAD.decode(text.as_bytes()));
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.0);
        matches!(bytes, Some(Ok(bytes)) if key.verify(message.as_bytes(), &bytes).is_ok())
    }
}

fn run(args: &[String]) -> Result<Result<(), Refused>, Box<dyn std::error::Error>> {
    let last_seen = match args {
        [_, _, _, _] => None,
        [_, _, _, _, flag, time] if flag == "--last-seen" => Some(humantime::parse_rfc3339(time)?),
        _ => return Err(USAGE.into()),
    };
    let verifier = Verifier {
        key: PublicKey::parse(&std::fs::read_to_string(&args[1])?)
            .ok_or("not a P-256 public key in PEM")?,
        app: args[2].clone(),
        fingerprint: args[3].clone(),
    };
    let file = std::fs::read(&args[0])?;
    Ok(verifier
        .verify(&file, SystemTime::now(), last_seen)
        .map(|_license| ()))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(Ok(())) => println!("ok"),
        Ok(Err(Refused(reason))) => {
            println!("{reason}");
            return ExitCode::from(1);
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
