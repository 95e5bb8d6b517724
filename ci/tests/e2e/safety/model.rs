//! A scripted model beside a suite.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::lab::{Lab, files};

/// A scripted model that keeps what it is sent.
pub struct Model {
    child: Child,
    pub address: String,
    pub folder: PathBuf,
}

impl Model {
    pub fn start(lab: &Lab) -> Self {
        lab.write(
            "script.yaml",
            "rules:\n  - reply: { reason: none of these, action: stuck, target: null, value: null }\n",
        );
        let folder = lab.path("model");
        let mut child = Command::new(env!("CARGO_BIN_EXE_fixture-sites"))
            .args(["model", "--script"])
            .arg(lab.path("script.yaml"))
            .arg("--record")
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the model starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
        let address = line
            .split_whitespace()
            .nth(1)
            .expect("an address")
            .to_owned();
        Self {
            child,
            address,
            folder,
        }
    }

    /// The key belongs into one header of a request to the model and nowhere else: takes it out of
    /// that place in the recordings, so that the search finds it in any other.
    pub fn take_key_out_of_its_header(&self, key: &str) {
        for path in files(&self.folder) {
            let text = std::fs::read_to_string(&path).expect("a recording");
            let mut request: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let headers = request["headers"].as_array_mut().expect("headers");
            let header = headers
                .iter_mut()
                .find(|header| header[0] == "authorization")
                .expect("the key is sent");
            assert_eq!(header[1], format!("Bearer {key}"));
            header[1] = "Bearer (the key)".into();
            std::fs::write(&path, request.to_string()).expect("written");
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
