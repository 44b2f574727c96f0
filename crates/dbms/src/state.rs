//! What a server counts of itself, and how it is asked.

/// One question, whose answer has many counters or one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateQuery {
    /// What the counters are called by: `status` in `status.Innodb_rows_read`, one of
    /// [`model::state::GROUPS`].
    pub group: &'static str,
    /// A query whose rows begin with a name and end with a value, or with the text of a report.
    /// Servers that cannot tell fail or return no row.
    pub sql: &'static str,
    /// What the rows are.
    pub form: StateForm,
}

/// What the rows of an answer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateForm {
    /// A name and a value each; values that are no numbers are left out.
    Counters,
    /// A report for people, in the last column of the first row.
    Text,
}

const fn counters(group: &'static str, sql: &'static str) -> StateQuery {
    StateQuery { group, sql, form: StateForm::Counters }
}

const fn text(group: &'static str, sql: &'static str) -> StateQuery {
    StateQuery { group, sql, form: StateForm::Text }
}

/// A counter of each file, by its name in the data folder. Files of the redo log are one, because
/// they change their names as they are filled and used again.
macro_rules! files {
    ($counter:literal, $column:literal) => {
        concat!(
            "SELECT CONCAT(IF(file_name LIKE '%/#ib_redo%' OR file_name LIKE '%/ib_logfile%', \
             'redo log', \
             SUBSTRING_INDEX(REPLACE(file_name, @@datadir, ''), '/', -2)), '.",
            $counter,
            "'), SUM(",
            $column,
            ") FROM performance_schema.file_summary_by_instance GROUP BY 1"
        )
    };
}

/// What servers of MySQL's protocol tell. Files and indexes have counters where the performance
/// schema is on.
pub(crate) const INNODB: &[StateQuery] = &[
    counters("status", "SHOW GLOBAL STATUS"),
    counters("innodb", "SELECT name, `count` FROM information_schema.innodb_metrics"),
    counters(
        "file",
        concat!(
            files!("reads", "count_read"),
            " UNION ALL ",
            files!("writes", "count_write"),
            " UNION ALL ",
            files!("read_bytes", "sum_number_of_bytes_read"),
            " UNION ALL ",
            files!("write_bytes", "sum_number_of_bytes_write"),
        ),
    ),
    counters(
        "index",
        "SELECT CONCAT(object_name, '.', COALESCE(index_name, 'none'), '.fetches'), count_fetch \
         FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE object_schema = DATABASE()",
    ),
    text("innodb", "SHOW ENGINE INNODB STATUS"),
];

/// The same with MyRocks.
pub(crate) const ROCKSDB: &[StateQuery] = &[
    counters("status", "SHOW GLOBAL STATUS"),
    counters(
        "rocksdb",
        "SELECT stat_type, value FROM information_schema.rocksdb_perf_context_global UNION ALL \
         SELECT stat_type, value FROM information_schema.rocksdb_dbstats",
    ),
    counters(
        "table",
        "SELECT CONCAT(table_name, '.', stat_type), SUM(value) \
         FROM information_schema.rocksdb_perf_context WHERE table_schema = DATABASE() \
         GROUP BY table_name, stat_type",
    ),
    text("rocksdb", "SHOW ENGINE ROCKSDB STATUS"),
];

/// What Postgres tells, each view of statistics by the names of its columns.
pub(crate) const POSTGRES: &[StateQuery] = &[
    counters(
        "database",
        "SELECT one.key, one.value FROM pg_stat_database AS seen, json_each_text(to_json(seen)) \
         AS one WHERE seen.datname = current_database()",
    ),
    counters(
        "bgwriter",
        "SELECT one.key, one.value FROM pg_stat_bgwriter AS seen, json_each_text(to_json(seen)) \
         AS one",
    ),
    counters(
        "checkpointer",
        "SELECT one.key, one.value FROM pg_stat_checkpointer AS seen, \
         json_each_text(to_json(seen)) AS one",
    ),
    counters(
        "wal",
        "SELECT one.key, one.value FROM pg_stat_wal AS seen, json_each_text(to_json(seen)) AS one",
    ),
    counters(
        "io",
        "SELECT replace(concat_ws('.', seen.backend_type, seen.object, seen.context, one.key), \
         ' ', '_'), one.value FROM pg_stat_io AS seen, json_each_text(to_json(seen)) AS one",
    ),
    counters(
        "table",
        "SELECT seen.relname || '.' || one.key, one.value FROM pg_statio_user_tables AS seen, \
         json_each_text(to_json(seen)) AS one \
         WHERE one.key LIKE 'heap%' OR one.key LIKE 'toast%' OR one.key LIKE 'tidx%' UNION ALL \
         SELECT 'catalogs.system_blks_read', sum(coalesce(heap_blks_read, 0) + \
         coalesce(idx_blks_read, 0))::text FROM pg_statio_sys_tables",
    ),
    counters(
        "index",
        "SELECT seen.indexrelname || '.' || one.key, one.value \
         FROM pg_statio_user_indexes AS seen, json_each_text(to_json(seen)) AS one \
         WHERE one.key LIKE 'idx%'",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_that_metrics_may_name() {
        for query in [INNODB, ROCKSDB, POSTGRES].into_iter().flatten() {
            assert!(model::state::GROUPS.contains(&query.group), "{}", query.group);
        }
    }
}
