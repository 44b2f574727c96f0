//! Real servers: fetched by their registries' clients, initialized, started, frozen, stopped and
//! killed.
//!
//! One after the other, by a `main` of its own, because this program is also the keeper and the
//! parent that is killed. `cargo test --test servers -- WORD` executes those whose name holds the
//! word; `-- live SERVER@VERSION` leads any build through its life.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program of tests that is not recognised as one"
)]

mod attack;
mod bench;
mod death;
mod life;
mod wire;

/// Name and body of each.
const TESTS: &[(&str, fn())] = &[
    ("postgres_lives_and_is_gone", life::postgres),
    ("postgres_9_6_lives_and_is_gone", life::postgres_9_6),
    ("mysql_5_5_lives_and_is_gone", life::mysql_5_5),
    ("mysql_5_6_lives_and_is_gone", life::mysql_5_6),
    ("mysql_9_lives_and_is_gone", life::mysql_9),
    ("mariadb_lives_and_is_gone", life::mariadb),
    ("mariadb_of_maven_lives_and_is_gone", life::mariadb_of_maven),
    ("myrocks_lives_and_is_gone", life::myrocks),
    ("tcp_listens_on_this_machine_only", life::tcp),
    ("a_wrong_setting_is_shown_with_the_log", life::wrong_setting),
    ("a_data_folder_in_use_is_refused", life::data_folder_in_use),
    ("a_socket_or_port_in_use_is_refused", life::socket_or_port_in_use),
    ("an_allocator_that_is_not_loaded_is_an_error", life::allocator),
    ("prefix_and_environment_reach_the_server_alone", life::prefix),
    ("a_tarball_of_the_users_becomes_a_build", life::import),
    ("a_folder_of_the_users_is_a_build", life::basedir),
    ("a_superuser_of_a_server_leads_root_nowhere", attack::programs_of_a_superuser),
    ("another_user_enters_nothing", attack::another_user),
    ("a_changed_library_of_a_build_is_refused_by_name", attack::changed_library),
    ("levels_of_factors_are_read_back", life::factors),
    ("nothing_is_left_when_the_parent_is_killed", death::parent),
    ("nothing_is_left_when_the_parent_is_killed_with_signals_only", death::parent_without_groups),
    ("a_resumed_run_waits_for_the_old_keeper", death::resumed),
    ("servers_die_with_their_keeper", death::keeper),
    ("a_keeper_killed_during_a_start_leaves_nothing", death::keeper_during_a_start),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("keep") => dbms::keep().unwrap(),
        Some("parent") => death::be_parent(&arguments[1]),
        Some("live") => life::any(&arguments[1]),
        word => {
            // A panic of one ends the program: the rest would wait for what it left.
            let word = word.filter(|word| !word.starts_with('-')).unwrap_or("");
            for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(word)) {
                println!("test {name} ...");
                let start = std::time::Instant::now();
                test();
                println!("test {name} ... ok ({:.1} s)", start.elapsed().as_secs_f64());
            }
        }
    }
}
