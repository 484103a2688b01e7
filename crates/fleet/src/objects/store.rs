//! Objects on the server, each content once, under its hash.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

use async_nats::jetstream::object_store::{self, ObjectInfo, ObjectMetadata};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::{Object, PIECE, digits};
use crate::error::{FleetError, Result};
use crate::server::{Server, Unanswered, unless_missing};

/// The bucket with the objects of all runs.
const BUCKET: &str = "PRAGMARK_OBJECTS";

/// The stream behind it.
const STREAM: &str = "OBJ_PRAGMARK_OBJECTS";

/// The subjects of the pieces of contents.
const PIECES: &str = "$O.PRAGMARK_OBJECTS.C.";

/// Seconds after which pieces that belong to no object are of an upload that was cut off, and not of one that goes on.
const CUT_OFF_S: i64 = 3600;

impl Server {
    /// Makes the store of objects, if it is missing.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn make_objects(&self) -> Result<()> {
        self.patiently("make the store of objects", async || {
            if self.jetstream.get_object_store(BUCKET).await.is_err() {
                let bucket = BUCKET.to_owned();
                let config = object_store::Config { bucket, ..object_store::Config::default() };
                self.jetstream.create_object_store(config).await?;
            }
            Ok(())
        })
    }

    /// Stores the file of an object, unless its content is there.
    ///
    /// # Errors
    /// When the file cannot be read or has changed, or the server refuses.
    pub fn put_object(&self, object: &Object, path: &Path) -> Result<()> {
        let refused =
            |why: &dyn std::fmt::Display| Unanswered::Refused(format!("{}{why}", path.display()));
        self.patiently("store an object", async || {
            let bucket = self.jetstream.get_object_store(BUCKET).await?;
            let stored = bucket.info(&object.sha256).await;
            // An upload that was cut off has no information.
            if stored.is_ok_and(|info| !info.deleted && has_content_of(&info, object)) {
                return Ok(());
            }
            let opened = tokio::fs::File::open(path).await;
            let mut file = opened.map_err(|error| refused(&format_args!(": {error}")))?;
            let metadata = ObjectMetadata {
                name: object.sha256.clone(),
                chunk_size: Some(PIECE),
                ..ObjectMetadata::default()
            };
            if !has_content_of(&bucket.put(metadata, &mut file).await?, object) {
                // What cannot be removed has another digest than its name, and is fetched by nobody.
                let _ = bucket.delete(&object.sha256).await;
                return Err(refused(&" was changed meanwhile"));
            }
            Ok(())
        })
    }

    /// Fetches an object into a file, and checks its hash.
    ///
    /// # Errors
    /// When the server does not have it, its content is another than its hash says, or the file cannot be written.
    pub fn get_object(&self, object: &Object, path: &Path) -> Result<()> {
        let sha256 = self.patiently("hand out an object", async || {
            let bucket = self.jetstream.get_object_store(BUCKET).await?;
            let mut content = bucket.get(&object.sha256).await?;
            copied(&mut content, object, path).await
        })?;
        if sha256 == object.sha256 {
            Ok(())
        } else {
            Err(FleetError::Failed(format!(
                "the object {} has another content than its hash says",
                object.name
            )))
        }
    }

    /// Removes objects that no run needs any more.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn remove_objects(&self, hashes: &[String]) -> Result<()> {
        for hash in hashes {
            self.patiently("remove an object", async || {
                let bucket = self.jetstream.get_object_store(BUCKET).await?;
                unless_missing(bucket.delete(hash).await).map(drop)
            })?;
        }
        Ok(())
    }

    /// Removes what uploads that were cut off long before `now_s`, by the server's clock, have left.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn remove_leftovers(&self, now_s: i64) -> Result<()> {
        let pieces = self.patiently("list the pieces of objects", async || {
            let bucket = self.jetstream.get_object_store(BUCKET).await?;
            let objects: Vec<ObjectInfo> = bucket.list().await?.try_collect().await?;
            let named: HashSet<String> =
                objects.into_iter().map(|object| format!("{PIECES}{}", object.nuid)).collect();
            let stream = self.stream(STREAM).await?;
            let subjects = stream.info_with_subjects(format!("{PIECES}>")).await?;
            let subjects: Vec<(String, usize)> = subjects.try_collect().await?;
            let nameless = subjects.into_iter().map(|(subject, _)| subject);
            Ok(nameless.filter(|subject| !named.contains(subject)).collect::<Vec<_>>())
        })?;
        for subject in pieces {
            let last = self.latest(STREAM, &subject)?;
            if last.is_some_and(|last| last.stored_s < now_s - CUT_OFF_S) {
                self.clear(STREAM, &subject)?;
            }
        }
        Ok(())
    }
}

/// Returns whether what was stored has the hash of the object.
fn has_content_of(info: &ObjectInfo, object: &Object) -> bool {
    let stored = info.digest.as_deref().and_then(|digest| digest.strip_prefix("SHA-256="));
    let stored = stored.and_then(|digest| URL_SAFE.decode(digest).ok());
    stored.is_some_and(|hash| digits(&hash) == object.sha256) && info.size as u64 == object.bytes
}

/// Copies the content of an object to a file and returns its hash. It reads at most a piece more than its size.
async fn copied(
    content: &mut (impl AsyncRead + Unpin),
    object: &Object,
    path: &Path,
) -> Result<String, Unanswered> {
    let unwritable = |error: std::io::Error| {
        Unanswered::Refused(format!("cannot write {}: {error}", path.display()))
    };
    let mut file = tokio::fs::File::create(path).await.map_err(unwritable)?;
    let (mut hash, mut piece, mut read) = (Sha256::new(), vec![0; PIECE], 0);
    while read <= object.bytes {
        let count = match content.read(&mut piece).await {
            Ok(0) => break,
            Ok(count) => count,
            // The content does not have its digest.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                let name = &object.name;
                let why = format!("what it has under the hash of {name} has another content");
                return Err(Unanswered::Refused(why));
            }
            Err(_) => return Err(Unanswered::Silent),
        };
        read += count as u64;
        hash.update(&piece[..count]);
        file.write_all(&piece[..count]).await.map_err(unwritable)?;
    }
    file.flush().await.map_err(unwritable)?;
    Ok(digits(&hash.finalize()))
}
