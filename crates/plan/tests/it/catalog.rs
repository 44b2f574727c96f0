use crate::{catalog, plan_of, shipped};
use model::{plan::PhaseKind, workload::Class};
use plan::Catalog;

#[test]
fn every_shipped_file_is_read() {
    let catalog = catalog();
    let count = |listed: Result<Vec<plan::Listing>, plan::Error>| {
        let listed = listed.unwrap_or_else(|error| panic!("{error}"));
        for line in &listed {
            assert!(!line.help.is_empty(), "{} has no help", line.source);
            assert!(line.source.ends_with(&format!("{}.toml", line.name)), "{}", line.source);
        }
        listed.len()
    };
    assert!(count(catalog.workloads()) >= 35);
    assert!(count(catalog.suites()) >= 4);
    assert!(count(catalog.experiments()) >= 4);
    assert!(count(catalog.schemas()) >= 8);
    for server in ["mysql", "mariadb", "postgres", "sqlite"] {
        assert!(count(catalog.configs(server)) >= 2, "{server}");
    }
}

#[test]
fn the_embedded_files_are_those_of_the_folders() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let count = |folder: &str| fs_err::read_dir(root.join(folder)).unwrap().count();
    let catalog = catalog();
    assert_eq!(catalog.workloads().unwrap().len(), count("catalog/workloads"));
    assert_eq!(catalog.schemas().unwrap().len(), count("catalog/schemas"));
    assert_eq!(catalog.suites().unwrap().len(), count("catalog/suites"));
    assert_eq!(catalog.configs("mysql").unwrap().len(), count("catalog/configs/mysql"));
    assert_eq!(catalog.experiments().unwrap().len(), count("experiments"));
}

#[test]
fn every_shipped_setting_has_a_reason() {
    let catalog = catalog();
    for server in ["mysql", "mariadb", "postgres", "sqlite"] {
        for listing in catalog.configs(server).unwrap() {
            for setting in catalog.config(server, &listing.name).unwrap().settings {
                assert!(!setting.reason.is_empty(), "{server}/{}: {}", listing.name, setting.name);
            }
        }
    }
}

#[test]
fn every_shipped_statement_says_what_to_expect() {
    let catalog = catalog();
    for listing in catalog.workloads().unwrap() {
        let workload = catalog.workload(&listing.name).unwrap();
        let script = workload.defaults().unwrap();
        for statement in script.statements() {
            let expect = &statement.expect;
            let said = match statement.class {
                Class::Read => expect.rows.is_some(),
                Class::Write | Class::Other => expect.changed.is_some(),
            };
            assert!(said, "{}: {}", listing.name, statement.sql);
        }
    }
}

#[test]
fn workloads_of_one_statement_say_what_it_does() {
    let workloads = catalog().workloads().unwrap();
    let check = |name: &str, expected: &str| {
        let found = workloads.iter().find(|workload| workload.name == name).unwrap();
        assert_eq!(found.help, expected, "{name}");
    };
    for name in ["point-query", "oltp_point_select"] {
        check(name, "Selects one row by primary key");
    }
    for name in ["delete", "oltp_delete"] {
        check(name, "Deletes one row by primary key");
    }
    for name in ["insert", "oltp_insert"] {
        check(name, "Inserts one row at the end of the table");
    }
    for name in ["update-index", "oltp_update_index"] {
        check(name, "Updates a column with a secondary index, one row");
    }
    for name in ["update-nonindex", "oltp_update_non_index"] {
        check(name, "Updates a column without an index, one row");
    }
}

#[test]
fn every_shipped_experiment_is_planned() {
    for listing in catalog().experiments().unwrap() {
        let plan = shipped(&listing.name, &[]).unwrap_or_else(|error| panic!("{error}"));
        let (subjects, bases) = match listing.name.as_str() {
            // Each engine or build has a base of its own.
            "allocators" => (8, 2),
            "io-bound" | "io-by-file" => (3, 1),
            "transports" => (8, 2),
            "storage-engines" => (4, 2),
            "time-series" | "time-series-load" | "time-series-writes" => (4, 1),
            "vectors" => (3, 1),
            "durability" => (5, 1),
            "performance-schema" => (6, 3),
            "clients" | "tpcc-client-vs-procedures" => (3, 1),
            "insert-benchmark-all" => (7, 1),
            "sqlite-over-the-years" => (31, 1),
            "postgres-over-the-years" => (119, 1),
            "mariadb-over-the-years" => (9, 1),
            // Its indexes are compared, on one server.
            "pgvector" => (1, 1),
            "tpcc-audits" => (7, 1),
            // What is verified is not compared.
            "verify" => (1, 1),
            "verify-all" => (8, 1),
            _ => (2, 1),
        };
        assert_eq!((plan.subjects.len(), plan.base.len()), (subjects, bases), "{}", listing.name);
        assert!(!plan.phases.is_empty(), "{}", listing.name);
        let folder = plan.estimate.folder_bytes;
        assert!((1..plan.estimate.disk_bytes).contains(&folder), "{}: {folder}", listing.name);
    }
}

#[test]
fn every_shipped_table_is_one_of_its_storage_engine() {
    let experiments = [
        "quickstart",
        "tpcc-postgres-11-vs-18",
        "insert-benchmark",
        "time-series",
        "time-series-load",
        "time-series-writes",
        "vectors",
        "pgvector",
    ];
    for name in experiments {
        let plan = shipped(name, &[]).unwrap();
        for table in plan.schemas.iter().flat_map(|schema| &schema.tables) {
            for dialect in ["mysql", "postgres"] {
                let create = table.create.get(dialect);
                let said = create.is_none_or(|sql| sql.contains("{engine}"));
                assert!(said, "{name}: `{}` for {dialect}", table.name);
            }
        }
    }
}

#[test]
fn constraints_are_added_where_their_parameter_says_so() {
    let keys = |keys: &str| {
        let plan = shipped("tpcc-postgres-11-vs-18", &[&format!("parameters.foreign_keys={keys}")]);
        plan.map(|plan| plan.schemas[0].constraints.get("innodb").map_or(0, Vec::len))
    };
    assert_eq!((keys("0").unwrap(), keys("1").unwrap()), (0, 11));
    let refused = keys("2").unwrap_err().to_string();
    assert!(refused.contains("`when`"), "{refused}");
}

#[test]
fn the_published_suites_have_their_published_rows() {
    let groups = ["point", "range", "aggregate", "write"];
    let check = |suite: &str, (apart, expected): (&[&str], [usize; 4])| {
        let plan = shipped("quickstart", &[&format!("suite={suite}")]).unwrap();
        let rows = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        let of = |group: &str| {
            let own = rows.clone().filter(|phase| phase.group == group);
            own.map(|phase| phase.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(groups.map(|group| of(group).len()), expected, "{suite}");
        assert_eq!(of("apart"), apart, "{suite}");
        let counted = rows.clone().filter(|phase| phase.group != "apart");
        let names: Vec<_> = counted.map(|phase| phase.name.clone()).collect();
        assert_eq!(names.len(), expected.iter().sum::<usize>(), "{suite} has other groups");
        names
    };
    let before_writes = ["point-query.pre", "range-notcovered-si.pre"];
    let rows = check("sysbench", (&before_writes, [9, 5, 8, 10]));
    assert_eq!(rows[0], "update-inlist");
    assert_eq!(rows[6..8], ["read-write.range10", "read-write.range100"]);
    assert_eq!(rows[31], "insert");
    assert_eq!(check("sysbench-27", (&[], [9, 5, 3, 10])).len(), 27);
    assert_eq!(check("sysbench-47", (&[], [17, 9, 11, 10])).len(), 47);
    let rows = check("sysbench-42", (&[], [17, 9, 6, 10]));
    assert_eq!(rows.len(), 42);
    assert_eq!(rows.iter().filter(|name| name.contains(".pre")).count(), 15);
    assert_eq!(rows[1], "random-points.pre.range10");
}

#[test]
fn the_statements_of_a_transaction_are_counted_as_published() {
    let check = |name: &str, reads: u64, writes: u64| {
        let script = catalog().workload(name).unwrap().defaults().unwrap();
        let count = |class: Class| -> u64 {
            script.statements().filter(|one| one.class == class).map(|one| one.repeat).sum()
        };
        assert_eq!((count(Class::Read), count(Class::Write)), (reads, writes), "{name}");
    };
    check("read-only", 14, 0);
    check("read-only-sum", 11, 0);
    check("read-only-count", 1, 0);
    check("write-only", 0, 4);
    check("read-write", 14, 4);
    check("oltp_read_write", 14, 4);
    check("point-query", 1, 0);
    check("insert", 0, 1);
}

#[test]
fn a_moment_of_the_time_series_is_the_end_of_an_hour_of_the_window() {
    let check = |window: u32, low: u32| {
        let set = format!("parameters.window_hours={window}");
        let plan = shipped("time-series", &[&set]).unwrap();
        let mut phases = plan.phases.iter();
        let own = phases.find(|phase| phase.name == "tsbs-groupby-orderby-limit").unwrap();
        let drawn = serde_json::to_string(&own.script.roles[0].ops[0].draws).unwrap();
        assert!(drawn.contains(&format!("\"low\":{low},\"high\":86400")), "{window}: {drawn}");
    };
    check(24, 3_600);
    check(12, 46_800);
    check(1, 86_400);
}

#[test]
fn every_name_in_the_list_of_recipes_can_be_shown() {
    let catalog = catalog();
    for one in catalog.recipes().unwrap() {
        assert!(catalog.text(plan::Kind::Recipe, &one.name).is_ok(), "{}", one.name);
    }
    assert!(catalog.text(plan::Kind::Recipe, "mysql/nothing").is_err());
}

#[test]
fn an_overlay_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let workloads = folder.path().join("workloads");
    fs_err::create_dir(&workloads).unwrap();
    let text = "help = \"mine\"\nschema = \"sbtest\"\n[[op]]\nname = \"x\"\nsql = \"SELECT 1\"\n";
    fs_err::write(workloads.join("point-query.toml"), text).unwrap();
    fs_err::write(workloads.join("new.toml"), text).unwrap();
    let catalog = Catalog::with_overlay(folder.path()).unwrap();
    assert_eq!(catalog.workload("point-query").unwrap().help, "mine");
    assert_eq!(catalog.workload("new").unwrap().help, "mine");
    assert!(catalog.workload("scan").is_ok());
    let missing = Catalog::with_overlay(&folder.path().join("nothing")).unwrap_err();
    assert!(missing.to_string().contains("nothing"), "{missing}");
    let inside = Catalog::with_overlay(&workloads).unwrap_err().to_string();
    let expected = "workloads`: no file in it is used, because it has none of the folders `areas`,";
    assert!(inside.contains(expected) && inside.contains("`suites`, `workloads`:"), "{inside}");
}

#[test]
fn areas_that_extend_each_other_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let areas = folder.path().join("areas");
    fs_err::create_dir(&areas).unwrap();
    let text = "help = \"mine\"\nextends = \"mariadb\"\n[[area]]\nname = \"x\"\n\
                functions = [\"x*\"]\n";
    fs_err::write(areas.join("mysql.toml"), text).unwrap();
    let parts = Catalog::with_overlay(folder.path()).unwrap().all_source_parts().unwrap();
    let names = |server: &str| {
        let names = parts[server].areas.iter().map(|area| area.name.as_str());
        names.collect::<Vec<_>>()
    };
    let of_mariadb = ["InnoDB: buffer pool", "optimizer", "memory"];
    assert_eq!(names("mariadb"), [&of_mariadb[..], &["x"]].concat());
    assert_eq!(names("mysql"), [&["x"][..], &of_mariadb].concat());
}

#[test]
fn areas_that_extend_an_unknown_server_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let areas = folder.path().join("areas");
    fs_err::create_dir(&areas).unwrap();
    let text =
        "help = \"mine\"\nextends = \"mysq\"\n[[area]]\nname = \"x\"\nfunctions = [\"x*\"]\n";
    fs_err::write(areas.join("mine.toml"), text).unwrap();
    let error = Catalog::with_overlay(folder.path()).unwrap().all_source_parts().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("mine.toml:2") && error.contains("did you mean `mysql`?"), "{error}");
}

#[test]
fn each_connection_may_prepare_its_statements_for_all_tables() {
    let text = "question = \"Which?\"\nworkloads = [\"read-write\"]\ntables = 32\n[factors]\n\
                build = [\"mysql@9\", \"mariadb@11.8\"]\nconfig = [\"base\"]\nclients = [1, 64]\n";
    let plan = plan_of(text).unwrap();
    let statements: usize = plan.phases[0].script.ops().map(|op| op.statements.len()).sum();
    for subject in &plan.subjects {
        let mut settings = subject.config.settings.iter();
        let limit = settings.find(|setting| setting.name == "max_prepared_stmt_count").unwrap();
        // And the end of the transaction.
        assert!(limit.value.parse::<usize>().unwrap() > 64 * (32 * statements + 1), "{limit:?}");
    }
}

#[test]
fn a_cache_of_a_fifth_is_not_rounded_to_twice_as_much() {
    for rows in ["3_000_000", "100_000_000"] {
        let text = format!(
            "question = \"Which?\"\nworkloads = [\"point-query\"]\nrows = {rows}\n[factors]\n\
             build = [\"mysql@9\", \"mariadb@10.5\"]\nconfig = [\"io-bound\"]\n"
        );
        for subject in &plan_of(&text).unwrap().subjects {
            let value = |name: &str| {
                let mut settings = subject.config.settings.iter();
                let setting = settings.find(|setting| setting.name == name).unwrap();
                setting.value.parse::<u64>().unwrap()
            };
            let (pool, chunk) =
                (value("innodb_buffer_pool_size"), value("innodb_buffer_pool_chunk_size"));
            assert_eq!(chunk % (1 << 20), 0, "{chunk}");
            // Not many chunks, and eight instances of one are little of the cache.
            assert!((100..2000).contains(&(pool / chunk)), "{pool} {chunk}");
        }
    }
}

#[test]
fn a_configuration_has_what_it_extends() {
    let config = catalog().config("mariadb", "myrocks").unwrap();
    let value = |name: &str| {
        let setting = config.settings.iter().find(|setting| setting.name == name);
        setting.map(|setting| setting.value.as_str())
    };
    assert_eq!(config.engine.as_deref(), Some("rocksdb"));
    assert_eq!(value("innodb_buffer_pool_size"), Some("64M"));
    assert_eq!(value("max_connections"), Some("400"));
    assert_eq!(config.settings.iter().filter(|s| s.name == "innodb_log_file_size").count(), 1);
}
