//! Objects on the server, each content once, under its hash.

use std::path::Path;

use async_nats::jetstream::object_store::{self, ObjectMetadata, ObjectStore};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Object, PIECE, digits};
use crate::error::FleetError;
use crate::server::{Answer, Server, refused_or_silent, words_of};

/// The bucket with the objects of all runs.
const BUCKET: &str = "PRAGMARK_OBJECTS";

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
                Ok(_) => Answer::Yes(()),
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
            match fetched(&bucket, object, path).await {
                Ok(sha256) => Answer::Yes(sha256),
                Err(words) => refused_or_silent(&words),
            }
        })?;
        match sha256 == object.sha256 {
            true => Ok(()),
            false => Err(FleetError::WrongHash(object.name.clone())),
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
}

/// Whether the server has the whole content: one that was cut off has no information.
async fn is_there(bucket: &ObjectStore, object: &Object) -> bool {
    let info = bucket.info(&object.sha256).await;
    info.is_ok_and(|info| !info.deleted && info.size as u64 == object.bytes)
}

/// Writes an object to a file; its hash. More than its size is not read.
async fn fetched(bucket: &ObjectStore, object: &Object, path: &Path) -> Result<String, String> {
    let mut content = bucket
        .get(&object.sha256)
        .await
        .map_err(|it| words_of(&it))?;
    let written = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut file = tokio::fs::File::create(path).await.map_err(written)?;
    let (mut hash, mut piece, mut read) = (Sha256::new(), vec![0; PIECE], 0);
    while read <= object.bytes {
        let count = content.read(&mut piece).await;
        let count = count.map_err(|error| format!("timed out: {error}"))?;
        if count == 0 {
            break;
        }
        read += count as u64;
        hash.update(&piece[..count]);
        file.write_all(&piece[..count]).await.map_err(written)?;
    }
    file.flush().await.map_err(written)?;
    Ok(digits(&hash.finalize()))
}
