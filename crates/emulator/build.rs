//! Compiles the plugin of the emulator as shared objects, one for each version of its interface.

#![allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

use std::{env, fs, path::PathBuf};

/// Versions of the plugin interface: the emulator refuses other ones.
const INTERFACES: [u32; 2] = [1, 2];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=src/counter.c");
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
        command.args(["-pthread", "-s", "src/counter.c", "-o"]).arg(&object);
        let status = command.arg(format!("-DINTERFACE={interface}")).status()?;
        if !status.success() {
            return Err(format!("`src/counter.c` cannot be compiled ({status})").into());
        }
    }
    Ok(())
}
