//! Makes cargo compile the crate anew when a file of the embedded folders comes, goes or changes.

fn main() {
    for folder in ["../../catalog", "../../experiments"] {
        #[allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]
        {
            println!("cargo::rerun-if-changed={folder}");
        }
    }
}
