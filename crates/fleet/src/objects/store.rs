//! Objects on the server, each content once, under its hash.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

use async_nats::jetstream::object_store::{self, ObjectInfo, ObjectMetadata, ObjectStore};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::{Object, PIECE, digits};
use crate::error::FleetError;
use crate::server::{Answer, Server, refused_or_silent, words_of};

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
    pub(crate) fn make_objects(&self) -> Result<(), FleetError> {
        self.patiently("make the store of objects", || async {
            if self.jetstream.get_object_store(BUCKET).await.is_ok() {
                return Answer::Yes(());
            }
            let config = object_store::Config {
                bucket: BUCKET.to_owned(),
                ..object_store::Config::default()
            };
            match self.jetstream.create_object_store(config).await {
                Ok(_) => Answer::Yes(()),
                Err(error) => refused_or_silent(&words_of(&error)),
            }
        })
    }

    /// Stores the file of an object, unless its content is there.
    ///
    /// # Errors
    /// When the file cannot be read or has changed, or the server refuses.
    pub fn put_object(&self, object: &Object, path: &Path) -> Result<(), FleetError> {
        self.patiently("store an object", || async {
            let bucket = match self.jetstream.get_object_store(BUCKET).await {
                Ok(bucket) => bucket,
                Err(error) => return refused_or_silent(&words_of(&error)),
            };
            if is_there(&bucket, object).await {
                return Answer::Yes(());
            }
            let mut file = match tokio::fs::File::open(path).await {
                Ok(file) => file,
                Err(error) => return Answer::No(format!("{}: {error}", path.display())),
            };
            let metadata = ObjectMetadata {
                name: object.sha256.clone(),
                chunk_size: Some(PIECE),
                ..ObjectMetadata::default()
            };
            match bucket.put(metadata, &mut file).await {
                Ok(info) if has_content_of(&info, object) => Answer::Yes(()),
                Ok(_) => {
                    // What cannot be removed has another digest than its name, and is fetched by nobody.
                    let _ = bucket.delete(&object.sha256).await;
                    Answer::No(format!("{} was changed meanwhile", path.display()))
                }
                Err(error) => refused_or_silent(&words_of(&error)),
            }
        })
    }

    /// Fetches an object into a file, and checks its hash.
    ///
    /// # Errors
    /// When the server does not have it, its content is another than its hash says, or the file cannot be written.
    pub fn get_object(&self, object: &Object, path: &Path) -> Result<(), FleetError> {
        let sha256 = self.patiently("hand out an object", || async {
            let bucket = match self.jetstream.get_object_store(BUCKET).await {
                Ok(bucket) => bucket,
                Err(error) => return refused_or_silent(&words_of(&error)),
            };
            fetched(&bucket, object, path).await
        })?;
        if sha256 == object.sha256 {
            Ok(())
        } else {
            Err(FleetError::WrongHash(object.name.clone()))
        }
    }

    /// Removes objects that no run needs any more.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn remove_objects(&self, hashes: &[String]) -> Result<(), FleetError> {
        for hash in hashes {
            self.patiently("remove an object", || async {
                let bucket = match self.jetstream.get_object_store(BUCKET).await {
                    Ok(bucket) => bucket,
                    Err(error) => return refused_or_silent(&words_of(&error)),
                };
                match bucket.delete(hash).await {
                    Ok(()) => Answer::Yes(()),
                    Err(error) if words_of(&error).contains("not found") => Answer::Yes(()),
                    Err(error) => refused_or_silent(&words_of(&error)),
                }
            })?;
        }
        Ok(())
    }

    /// Removes what uploads that were cut off long before `now_s`, by the server's clock, have left.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn remove_leftovers(&self, now_s: i64) -> Result<(), FleetError> {
        let pieces = self.patiently("list the pieces of objects", || async {
            match self.nameless_pieces().await {
                Ok(pieces) => Answer::Yes(pieces),
                Err(words) => refused_or_silent(&words),
            }
        })?;
        for subject in pieces {
            let last = self.latest(STREAM, &subject)?;
            if last.is_some_and(|last| last.stored_s < now_s - CUT_OFF_S) {
                self.clear(STREAM, &subject)?;
            }
        }
        Ok(())
    }

    /// The subjects with pieces that belong to no object.
    async fn nameless_pieces(&self) -> Result<Vec<String>, String> {
        let words = |error: &dyn std::error::Error| words_of(error);
        let bucket = self.jetstream.get_object_store(BUCKET).await;
        let bucket = bucket.map_err(|error| words(&error))?;
        let objects = bucket.list().await.map_err(|error| words(&error))?;
        let objects: Vec<ObjectInfo> =
            objects.try_collect().await.map_err(|error| words(&error))?;
        let named: HashSet<String> =
            objects.into_iter().map(|object| format!("{PIECES}{}", object.nuid)).collect();
        let stream = self.stream(STREAM).await?;
        let subjects = stream.info_with_subjects(format!("{PIECES}>")).await;
        let subjects = subjects.map_err(|error| words(&error))?;
        let subjects: Vec<(String, usize)> =
            subjects.try_collect().await.map_err(|error| words(&error))?;
        let nameless = subjects.into_iter().map(|(subject, _)| subject);
        Ok(nameless.filter(|subject| !named.contains(subject)).collect())
    }
}

/// Whether the server has the whole content, and no other: one that was cut off has no information.
async fn is_there(bucket: &ObjectStore, object: &Object) -> bool {
    let info = bucket.info(&object.sha256).await;
    info.is_ok_and(|info| !info.deleted && has_content_of(&info, object))
}

/// Whether what was stored has the hash of the object.
fn has_content_of(info: &ObjectInfo, object: &Object) -> bool {
    let stored = info.digest.as_deref().and_then(|digest| digest.strip_prefix("SHA-256="));
    let stored = stored.and_then(|digest| URL_SAFE.decode(digest).ok());
    stored.is_some_and(|hash| digits(&hash) == object.sha256) && info.size as u64 == object.bytes
}

/// Writes an object to a file; its hash. More than its size is not read.
async fn fetched(bucket: &ObjectStore, object: &Object, path: &Path) -> Answer<String> {
    let mut content = match bucket.get(&object.sha256).await {
        Ok(content) => content,
        Err(error) => return refused_or_silent(&words_of(&error)),
    };
    match copied(&mut content, object.bytes, path).await {
        Ok(sha256) => Answer::Yes(sha256),
        Err(Interrupted::Content) => {
            Answer::No(format!("what it has under the hash of {} has another content", object.name))
        }
        Err(Interrupted::Connection) => Answer::Silence,
        Err(Interrupted::File(error)) => {
            Answer::No(format!("cannot write {}: {error}", path.display()))
        }
    }
}

/// Why a content was not copied.
enum Interrupted {
    /// It is not what its digest says.
    Content,
    /// The rest did not come.
    Connection,
    /// It could not be written.
    File(std::io::Error),
}

/// Copies at most one byte more than `bytes` of a content to a file and returns its hash.
async fn copied(
    content: &mut (impl AsyncRead + Unpin),
    bytes: u64,
    path: &Path,
) -> Result<String, Interrupted> {
    let file = tokio::fs::File::create(path).await;
    let mut file = file.map_err(Interrupted::File)?;
    let (mut hash, mut piece, mut read) = (Sha256::new(), vec![0; PIECE], 0);
    while read <= bytes {
        let count = match content.read(&mut piece).await {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(Interrupted::Content);
            }
            Err(_) => return Err(Interrupted::Connection),
        };
        read += count as u64;
        hash.update(&piece[..count]);
        let written = file.write_all(&piece[..count]).await;
        written.map_err(Interrupted::File)?;
    }
    file.flush().await.map_err(Interrupted::File)?;
    Ok(digits(&hash.finalize()))
}
