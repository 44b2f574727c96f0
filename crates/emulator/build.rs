//! Compiles the plugin of the emulator as shared objects, one for each version of its interface.

#![allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

use std::{env, fs, path::PathBuf};

/// Versions of the plugin interface: the emulator refuses other ones.
const INTERFACES: [u32; 2] = [1, 2];

const FILES: [&str; 2] = ["src/counter.c", "src/calls.c"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in FILES.iter().chain(&["src/block.h"]) {
        println!("cargo::rerun-if-changed={file}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let native = env::var("CARGO_CFG_TARGET_ARCH")? == "x86_64";
    let compiler = cc::Build::new().opt_level(2).debug(false).warnings(true).try_get_compiler()?;
    for interface in INTERFACES {
        let object = out.join(format!("counter-{interface}.so"));
        if !native {
            // The crate reports that it does not support the processor.
            fs::write(object, "")?;
            continue;
        }
        let mut command = compiler.to_command();
        command.args(["-shared", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec"]);
        command.args(["-pthread", "-s"]).args(FILES).arg("-o").arg(&object);
        let status = command.arg(format!("-DINTERFACE={interface}")).status()?;
        if !status.success() {
            return Err(format!("the plugin cannot be compiled ({status})").into());
        }
    }
    Ok(())
}
