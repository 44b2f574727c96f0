//! One browser for many pages: asked, clicked and typed into over its own pipe.
//!
//! What is evaluated here needs no script in the page, so the page keeps its policy, and keys are
//! pressed as a keyboard presses them.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// Chromium reads commands from descriptor 3 and answers on 4.
const START: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#;

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Number of the last command.
    last: u64,
    session: Option<String>,
    /// What happened since the page was opened.
    events: Vec<Value>,
}

impl Browser {
    /// Starts it with a profile of its own and an empty page.
    pub(crate) fn start(program: &str, profile: &Path) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", START, program, "--remote-debugging-pipe", "--headless", "--no-sandbox"])
            .args(["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-extensions", "--disable-background-networking"])
            // A picture of more than the window has none, and would be laid out otherwise.
            .arg("--hide-scrollbars")
            // Whatever it asks for by name is not there.
            .arg("--host-resolver-rules=MAP * ~NOTFOUND")
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let (last, session, events) = (0, None, Vec::new());
        let mut browser = Self { child, commands, answers, last, session, events };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        browser
    }

    /// Opens a file and waits until it is there.
    pub(crate) fn open(&mut self, page: &Path) {
        self.events.clear();
        let url = address(page);
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{answer}");
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.message();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page; promises are awaited.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let mut answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: Key) {
        let (name, code, text) = match key {
            Key::Tab => ("Tab", 9, ""),
            Key::Enter => ("Enter", 13, "\r"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({
                "type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code,
            });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types a text into whatever has the focus.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Width and height of the window [px].
    pub(crate) fn size(&mut self, (width, height): (u32, u32)) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// What the page is shown on, `screen` or `print`, and whether `light` or `dark`.
    pub(crate) fn medium(&mut self, medium: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": medium, "features": features });
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// What a part of the page looks like, as PNG in base64; it begins at whole pixels.
    pub(crate) fn picture(&mut self, clip: &Value) -> String {
        let number = |key: &str| clip[key].as_f64().unwrap();
        let (x, y) = (number("x").floor(), number("y").floor());
        let asked = json!({ "captureBeyondViewport": true, "clip": {
            "x": x, "y": y, "width": number("width").ceil() + 1.0,
            "height": number("height").ceil() + 1.0, "scale": 1,
        }});
        let mut answer = self.call("Page.captureScreenshot", asked);
        match answer["data"].take() {
            Value::String(data) => data,
            other => panic!("no picture: {other}"),
        }
    }

    /// The address of everything that was asked for since the page was opened, but the page.
    pub(crate) fn requests(&self, page: &Path) -> Vec<String> {
        let own = address(page);
        let asked = self.of("Network.requestWillBeSent");
        let urls = asked.filter_map(|event| event["request"]["url"].as_str());
        urls.filter(|url| *url != own && !url.starts_with("data:")).map(str::to_owned).collect()
    }

    /// Everything that was said on the console since the page was opened, errors among it.
    pub(crate) fn console(&self) -> Vec<String> {
        let said = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        said.iter().flat_map(|method| self.of(method)).map(Value::to_string).collect()
    }

    fn of(&self, method: &str) -> impl Iterator<Item = &Value> {
        let events = self.events.iter().filter(move |event| event["method"] == method);
        events.map(|event| &event["params"])
    }

    /// Sends a command and waits for its answer.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).unwrap();
        loop {
            let mut message = self.message();
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.answers.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its helpers end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A key that does something by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    Tab,
    Enter,
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}
