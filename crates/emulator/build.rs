//! Compiles the plugin of the emulator as shared objects, one for each version of its interface,
//! and what is preloaded into servers.

#![allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

use std::{env, error::Error, fs, path::PathBuf};

/// Versions of the plugin interface: the emulator refuses other ones.
const INTERFACES: [u32; 2] = [1, 2];

const FILES: [&str; 3] = ["src/counter.c", "src/calls.c", "src/chosen.c"];
const PRELOADED: &str = "src/signals.c";

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES.iter().chain(&["src/block.h", PRELOADED]) {
        println!("cargo::rerun-if-changed={file}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let native = env::var("CARGO_CFG_TARGET_ARCH")? == "x86_64";
    let compiler = cc::Build::new().opt_level(2).debug(false).warnings(true).try_get_compiler()?;
    let compile = |name: &str, files: &[&str], flags: &[String]| -> Result<(), Box<dyn Error>> {
        let object = out.join(name);
        if !native {
            // The crate reports that it does not support the processor.
            return Ok(fs::write(object, "")?);
        }
        let mut command = compiler.to_command();
        command.args(["-shared", "-fPIC", "-fvisibility=hidden", "-s"]).args(flags);
        let status = command.args(files).arg("-o").arg(&object).status()?;
        if !status.success() {
            return Err(format!("{name} cannot be compiled ({status})").into());
        }
        Ok(())
    };
    for interface in INTERFACES {
        let flags = ["-ftls-model=initial-exec", "-pthread", &format!("-DINTERFACE={interface}")];
        compile(&format!("counter-{interface}.so"), &FILES, &flags.map(str::to_owned))?;
    }
    compile("signals.so", &[PRELOADED], &[])
}
