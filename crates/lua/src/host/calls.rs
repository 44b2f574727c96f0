//! What `debug.getinfo` tells, without the library that may change what it looks at.

use mlua::{Lua, Table, Value};

/// About a function, or the one that is called so many levels above this one; nothing where there
/// is none.
pub(super) fn info(lua: &Lua, asked: Value) -> mlua::Result<Option<Table>> {
    let table = lua.create_table()?;
    let level = match &asked {
        Value::Function(function) => {
            let about = function.info();
            table.set("source", about.source)?;
            table.set("short_src", about.short_src)?;
            table.set("what", about.what)?;
            table.set("linedefined", about.line_defined)?;
            table.set("lastlinedefined", about.last_line_defined)?;
            table.set("currentline", -1)?;
            table.set("func", asked)?;
            return Ok(Some(table));
        }
        Value::Integer(level) => *level,
        Value::Number(level) => *level as _,
        other => {
            let kind = other.type_name();
            let reason = format!("`debug.getinfo` takes a level or a function, and not a {kind}");
            return Err(mlua::Error::runtime(reason));
        }
    };
    let Ok(level) = usize::try_from(level) else { return Ok(None) };
    let told = lua.inspect_stack(level, |call| {
        let (source, names) = (call.source(), call.names());
        table.set("source", source.source)?;
        table.set("short_src", source.short_src)?;
        table.set("what", source.what)?;
        table.set("linedefined", source.line_defined.map_or(-1, |line| line as i64))?;
        table.set("lastlinedefined", source.last_line_defined.map_or(-1, |line| line as i64))?;
        table.set("currentline", call.current_line().map_or(-1, |line| line as i64))?;
        table.set("name", names.name)?;
        table.set("namewhat", names.name_what.unwrap_or_default())?;
        table.set("func", call.function())
    });
    told.map(|set| set.map(|()| table)).transpose()
}
