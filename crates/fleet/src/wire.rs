//! Messages: JSON, compressed by gzip, so that outcomes with their histograms stay far below the largest message that a
//! server accepts.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use lab::record::{EnvironmentFile, LONGEST_S, RunPlan};
use runner::{Execution, Task};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{FleetError, Result};
use crate::server::Stored;
use crate::signature::{Signature, Signer};

/// The longest message after decompression, in bytes: what comes from another machine must not fill the memory.
const LONGEST: u64 = 256 << 20;

/// A block that waits for an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Work {
    /// The run.
    pub(crate) run: String,
    /// The group whose agents may carry it out.
    pub(crate) group: String,
    /// The trials, in their order.
    pub(crate) tasks: Vec<Task>,
}

/// A block that was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// Its trials, in their order.
    pub(crate) trials: Vec<Finished>,
    /// How often the server had delivered the block when it was carried out, from 1.
    pub(crate) attempt: u64,
}

/// A trial that was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// Its position in the block.
    pub(crate) position: u32,
    /// The hash of what was to be done.
    pub(crate) task: String,
    /// How it ended.
    pub(crate) execution: Execution,
}

/// An agent's report on its machine when it has prepared itself for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineReport {
    /// The agent.
    pub agent: String,
    /// The public key of its process, which distinguishes it from earlier ones of this agent.
    pub instance: String,
    /// The machine with its engines, or why it cannot take part.
    pub machine: Result<EnvironmentFile, String>,
}

/// The run of a group as it began: what its folder can be made of anywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPart {
    /// The plan.
    pub plan: RunPlan,
    /// The machine of the agent that was first to be ready, for all of the group.
    pub environment: EnvironmentFile,
}

/// A message of an agent, signed by its process together with the subject, so that nobody can use it elsewhere.
#[derive(Serialize, Deserialize)]
struct Signed {
    signature: Signature,
    /// The message as JSON: the very bytes that were signed.
    message: String,
}

impl Work {
    /// Whether it is a block of this run and group, and its trials can be carried out: what is read may come from anywhere.
    ///
    /// # Errors
    /// The damage.
    pub(crate) fn check(&self, run: &str, group: &str) -> Result<()> {
        let wrong = |why: String| Err(FleetError::damaged("a block", why));
        if self.run != run || self.group != group {
            return wrong(format!("it is of {} and {}", self.run, self.group));
        }
        let is_time = |seconds: f64| seconds > 0.0 && seconds <= LONGEST_S;
        match self.tasks.iter().find(|task| !is_time(task.limit_s)) {
            Some(task) => wrong(format!("the limit of a trial is {} s", task.limit_s)),
            None => Ok(()),
        }
    }
}

/// Returns the hash of a trial, or of the trials of a block: the first half of the SHA-256, as hexadecimal digits.
pub(crate) fn hash_of(value: &impl Serialize) -> String {
    let text = serde_json::to_vec(value).expect("a task is JSON");
    Sha256::digest(&text)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Encodes a message.
pub(crate) fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    let text =
        serde_json::to_vec(value).map_err(|error| FleetError::damaged("a message", error))?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(&text).and_then(|()| encoder.finish());
    packed.map_err(|error| FleetError::damaged("a message", error))
}

/// Decodes a message.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    let mut text = Vec::new();
    let mut limited = GzDecoder::new(bytes).take(LONGEST);
    limited.read_to_end(&mut text).map_err(|error| FleetError::damaged(what, error))?;
    serde_json::from_slice(&text).map_err(|error| FleetError::damaged(what, error))
}

/// Encodes a message for a subject, signed.
pub(crate) fn encode_signed(
    value: &impl Serialize,
    subject: &str,
    signer: &Signer,
) -> Result<Vec<u8>> {
    let message =
        serde_json::to_string(value).map_err(|error| FleetError::damaged("a message", error))?;
    let signature = signer.sign(signed_bytes(subject, &message).as_bytes())?;
    encode(&Signed { signature, message })
}

/// Decodes a signed message; returns it with the key of its author.
///
/// # Errors
/// It is damaged, or nobody signed it for this subject.
pub(crate) fn decode_signed<T: DeserializeOwned>(
    stored: &Stored,
    what: &str,
) -> Result<(String, T)> {
    let Signed { signature, message } = decode(&stored.payload, what)?;
    if !signature.is_of(signed_bytes(&stored.subject, &message).as_bytes()) {
        return Err(FleetError::damaged(what, "its signature is wrong"));
    }
    let value = serde_json::from_str(&message).map_err(|error| FleetError::damaged(what, error))?;
    Ok((signature.key, value))
}

fn signed_bytes(subject: &str, message: &str) -> String {
    format!("pragmark message 1\n{subject}\n{message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::trial::TrialSpec;

    fn task(position: u32) -> Task {
        Task {
            block: "rounds-x-0-0".to_owned(),
            position,
            spec: TrialSpec::default(),
            limit_s: 1.0,
            probe_fsync: false,
        }
    }

    #[test]
    fn what_travels_arrives_as_it_was() {
        let work =
            Work { run: "r".to_owned(), group: "g".to_owned(), tasks: vec![task(0), task(1)] };
        let packed = encode(&work).unwrap();
        assert_eq!(decode::<Work>(&packed, "work").unwrap(), work);
        for damaged in [&packed[..packed.len() / 2], b"", b"{}"] {
            assert!(decode::<Work>(damaged, "work").is_err());
        }
    }

    #[test]
    fn a_signed_message_is_read_below_its_subject_alone() {
        let signer = Signer::default();
        let payload = encode_signed(&"figures", "mine", &signer).unwrap();
        let stored = |subject: &str, payload: &[u8]| Stored {
            subject: subject.to_owned(),
            sequence: 1,
            payload: payload.to_vec().into(),
            stored_s: 0,
        };
        let (key, read) = decode_signed::<String>(&stored("mine", &payload), "it").unwrap();
        assert_eq!((key, read.as_str()), (signer.key(), "figures"));
        assert!(decode_signed::<String>(&stored("yours", &payload), "it").is_err());
        let mut signed: Signed = decode(&payload, "it").unwrap();
        signed.message = "\"others\"".to_owned();
        let changed = stored("mine", &encode(&signed).unwrap());
        assert!(decode_signed::<String>(&changed, "it").is_err());
        let plain = stored("mine", &encode(&"figures").unwrap());
        assert!(decode_signed::<String>(&plain, "it").is_err());
    }

    #[test]
    fn a_block_of_another_run_or_without_a_limit_is_refused() {
        let work = |limit_s: f64| Work {
            run: "r".to_owned(),
            group: "g".to_owned(),
            tasks: vec![Task { limit_s, ..task(0) }],
        };
        work(1.0).check("r", "g").unwrap();
        assert!(work(1.0).check("other", "g").is_err());
        assert!(work(1.0).check("r", "other").is_err());
        for limit_s in [-1.0, 0.0, 1e300, f64::NAN] {
            assert!(work(limit_s).check("r", "g").is_err(), "{limit_s}");
        }
    }

    #[test]
    fn blocks_with_other_trials_have_other_hashes() {
        let hashes = [vec![task(0)], vec![task(1)], vec![task(0), task(1)]];
        let hashes = hashes.map(|tasks| hash_of(&tasks));
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
        assert_eq!(hash_of(&task(4)), hash_of(&task(4)));
        assert_eq!(hashes[0].len(), 32);
    }
}
