-- What scripts find in a state: the table `sysbench` and its objects. Whatever touches a server, a
-- clock or chance is a function of `host`, which the program gives.

local host = ...

sysbench = {
   tid = host.tid,
   version = "1.1.0",
   version_string = "sysbench 1.1.0 (dbdyno)",
   error = { NONE = 0, RESTART_EVENT = 1 },
   hooks = {},
   rand = host.rand,
   sql = { error = { NONE = 0, IGNORABLE = 1, FATAL = 2 } },
   cmdline = {
      PARALLEL_COMMAND = true,
      ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
      ARG_LIST = 6, ARG_FILE = 7,
      argv = host.argv, command = host.command, script_path = host.script_path,
   },
   report_default = host.report_default,
   report_csv = host.report_csv,
   report_json = host.report_json,
}
-- Scripts from before 1.0 read them, and bulk_insert.lua.
thread_id, test = host.tid, host.script_path
mysql_table_engine, myisam_max_rows = "innodb", 1000000

-- Kinds of parameters, as the host names them.
local INTEGER, REAL, TEXT = 1, 2, 3
local names = {
   "NONE", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "TIME", "DATE", "DATETIME",
   "TIMESTAMP", "CHAR", "VARCHAR",
}
local kinds = {
   TINYINT = INTEGER, SMALLINT = INTEGER, INT = INTEGER, BIGINT = INTEGER, FLOAT = REAL,
   DOUBLE = REAL, CHAR = TEXT, VARCHAR = TEXT,
}
local kind_of, name_of = {}, {}
sysbench.sql.type = {}
for place, name in ipairs(names) do
   local number = place - 1
   sysbench.sql.type[name] = number
   kind_of[number], name_of[number] = kinds[name], name
end

-- The process is not the script's: what it ends is its own command.
function os.exit(code)
   error(("the script called os.exit(%s)"):format(code == nil and "" or tostring(code)), 2)
end

-- What of LuaJIT's library `debug` looks at calls and changes nothing. A level is counted from the
-- function that asks; this one and the host's are two more.
debug = {}

function debug.getinfo(asked)
   local told = host.info(type(asked) == "number" and asked + 1 or asked)
   return told
end

local function place_of(told)
   if told.what == "C" then
      return "[C]: in function"
   end
   local place = ("%s:%d: in "):format(told.short_src, told.currentline)
   if told.what == "main" then
      return place .. "main chunk"
   end
   if told.name then
      return ("%sfunction '%s'"):format(place, told.name)
   end
   return ("%sfunction <%s:%d>"):format(place, told.short_src, told.linedefined)
end

function debug.traceback(message, level)
   if message ~= nil and type(message) ~= "string" and type(message) ~= "number" then
      return message
   end
   local lines, at = { "stack traceback:" }, (level or 1) + 1
   local told = host.info(at)
   while told do
      lines[#lines + 1] = "\t" .. place_of(told)
      at = at + 1
      told = host.info(at)
   end
   local text = table.concat(lines, "\n")
   return message and message .. "\n" .. text or text
end

local function refuses(what)
   return function(_, key)
      error(("`%s.%s` is not supported"):format(what, tostring(key)), 2)
   end
end

local Driver, Connection, Statement, Parameter, Result = {}, {}, {}, {}, {}
for _, class in pairs({ Driver, Connection, Statement, Parameter, Result }) do
   class.__index = class
end

-- A statement failed. One that may be tried again unwinds the event by a table.
local function failed(con, query, ignorable, errno, state, message, level)
   con.result = nil
   con.sql_errno, con.sql_state, con.sql_errmsg = errno, state, message
   con.error = ignorable and sysbench.sql.error.IGNORABLE or sysbench.sql.error.FATAL
   local told = {
      connection = con, query = query, sql_errno = errno, sql_state = state, sql_errmsg = message,
   }
   local hook = sysbench.hooks.sql_error_ignorable
   if ignorable or (hook and hook(told)) then
      told.errcode = sysbench.error.RESTART_EVENT
      error(told, 0)
   end
   local code = state ~= "" and state or tostring(errno)
   error(("SQL error %s: %s, in `%s`"):format(code, message, query:sub(1, 200)), level or 3)
end

local function succeeded(con)
   if con.error ~= 0 then
      con.error, con.sql_errno, con.sql_state, con.sql_errmsg = 0, 0, "", ""
   end
   con.result = nil
end

local function result_of(con, columns, rows)
   local result = setmetatable({ con = con, nrows = rows, nfields = columns }, Result)
   con.result = result
   return result
end

function sysbench.sql.driver(name)
   local known, reason = host.driver(name)
   if not known then
      error(reason, 2)
   end
   return setmetatable({ named = known }, Driver)
end

function Driver:name()
   return self.named
end

function Driver:connect()
   local id, reason = host.connect(self.named)
   if not id then
      error(reason, 2)
   end
   return setmetatable({
      id = id, driver = self, error = 0, sql_errno = 0, sql_state = "", sql_errmsg = "",
   }, Connection)
end

function Connection:query(sql)
   local columns, a, b, c, d = host.query(self.id, sql)
   if columns == false then
      failed(self, sql, a, b, c, d)
   end
   succeeded(self)
   if columns then
      return result_of(self, columns, a)
   end
end

function Connection:query_row(sql)
   local columns, a, b, c, d = host.query(self.id, sql)
   if columns == false then
      failed(self, sql, a, b, c, d)
   end
   succeeded(self)
   if columns and a > 0 then
      local row = host.fetch(self.id)
      return unpack(row, 1, columns)
   end
end

function Connection:prepare(sql)
   local number, a, b, c, d = host.prepare(self.id, sql)
   if number == false then
      failed(self, sql, a, b, c, d)
   end
   succeeded(self)
   return setmetatable({ con = self, number = number, sql = sql, count = 0 }, Statement)
end

function Connection:bulk_insert_init(head)
   self.bulk = head
   host.bulk_begin(self.id, head)
   return 0
end

-- Rows may be gathered, which is nothing, or sent, which frees the result of the statement before.
-- An event with a bulk insert is not tried again, as in sysbench: its rows are gone.
local function sent(con, ok, _, errno, state, message)
   if ok == false then
      failed(con, con.bulk, false, errno, state, message, 4)
   elseif ok then
      con.result = nil
   end
end

function Connection:bulk_insert_next(row)
   sent(self, host.bulk_next(self.id, row))
   return 0
end

function Connection:bulk_insert_done()
   sent(self, host.bulk_end(self.id))
end

function Connection:disconnect()
   self.result = nil
   host.disconnect(self.id)
   return true
end

function Connection:reconnect()
   self.result = nil
   local ok, reason = host.reconnect(self.id)
   if not ok then
      error(reason, 2)
   end
   return true
end

function Connection:more_results()
   error("`con:more_results` is not supported: the first result of a statement is the only one", 2)
end

function Connection:next_result()
   error("`con:next_result` is not supported: the first result of a statement is the only one", 2)
end

function Statement:bind_create(kind, longest)
   local known = kind_of[kind]
   if not known then
      local name = name_of[kind] or tostring(kind)
      error(("a parameter of type `%s` is not supported; use a VARCHAR"):format(name), 2)
   end
   if known == TEXT and type(longest) ~= "number" then
      error("a parameter of a text needs its longest length", 2)
   end
   return setmetatable({ kind = known, longest = longest }, Parameter)
end

function Statement:bind_param(...)
   local count = select("#", ...)
   local parameters, types = { ... }, {}
   for place = 1, count do
      types[place] = parameters[place].kind
   end
   self.parameters, self.count, self.values = parameters, count, {}
   local ok, a, b, c, d = host.bind(self.con.id, self.number, types)
   if ok == false then
      failed(self.con, self.sql, a, b, c, d)
   elseif ok then
      self.con.result = nil
   end
   return 0
end

function Statement:execute()
   local con, count = self.con, self.count
   local columns, a, b, c, d
   if count == 0 then
      columns, a, b, c, d = host.execute(con.id, self.number)
   elseif count == 1 then
      columns, a, b, c, d = host.execute(con.id, self.number, self.parameters[1].value)
   else
      local parameters, values = self.parameters, self.values
      for place = 1, count do
         values[place] = parameters[place].value
      end
      columns, a, b, c, d = host.execute(con.id, self.number, unpack(values, 1, count))
   end
   if columns == false then
      failed(con, self.sql, a, b, c, d)
   end
   succeeded(con)
   if columns then
      return result_of(con, columns, a)
   end
end

function Statement:close()
   if host.close(self.con.id, self.number) then
      self.con.result = nil
   end
   return 0
end

function Statement:next_result()
   error("`stmt:next_result` is not supported: the first result of a statement is the only one", 2)
end

function Parameter:set(value)
   if value ~= nil then
      if self.kind == TEXT then
         value = tostring(value)
         if #value > self.longest then
            value = value:sub(1, self.longest)
         end
      else
         local number = tonumber(value)
         if not number then
            error(("a parameter of a number was set to `%s`"):format(tostring(value)), 2)
         end
         value = number
      end
   end
   self.value = value
end

function Parameter:set_rand_str(template)
   self:set(host.rand.string(template))
end

function Result:fetch_row()
   local con = self.con
   if con.result ~= self then
      error("the connection executed another statement, which freed this result", 2)
   end
   return host.fetch(con.id)
end

function Result:free()
   if self.con.result == self then
      self.con.result = nil
   end
   return true
end

setmetatable(sysbench.rand, { __index = refuses("sysbench.rand") })
setmetatable(debug, { __index = refuses("debug") })
setmetatable(sysbench.sql, { __index = refuses("sysbench.sql") })

-- Histograms of a script's own.
sysbench.histogram = host.histogram

-- A safe stand-in for LuaJIT's FFI: what sysbench's own functions were asked for through it.
local counters = { "OTHER", "READ", "WRITE", "TRX", "ERROR", "RECONNECT", "BYTES_READ",
   "BYTES_WRITTEN", "MAX" }
local C = {
   sb_counter_inc = function(_, counter) host.count(counter) end,
   usleep = function(microseconds) host.sleep(microseconds) end,
}
for place, name in ipairs(counters) do
   C["SB_CNT_" .. name] = place - 1
end
setmetatable(C, { __index = refuses("ffi.C") })
ffi = setmetatable({ cdef = function() end, C = C }, { __index = refuses("ffi") })
package.loaded.ffi = ffi

-- Names from before sysbench 1.0: those of random numbers still stand in stock scripts.
sb_rand, sb_rand_uniform = host.rand.default, host.rand.uniform
sb_rand_gaussian, sb_rand_special = host.rand.gaussian, host.rand.special
sb_rand_uniq, sb_rand_str = host.unique_within, host.rand.string
for _, name in pairs({ "db_connect", "db_disconnect", "db_query", "db_bulk_insert_init",
   "db_bulk_insert_next", "db_bulk_insert_done", "db_prepare", "db_bind_param", "db_execute",
   "db_close", "db_store_results", "db_free_results", "sb_rnd" }) do
   _G[name] = function()
      error(("`%s` is not supported: it is from before sysbench 1.0"):format(name), 2)
   end
end

-- Files are read by the host, which knows their sums.
local function read(path)
   local chunk, reason = host.load_file(path)
   return chunk, reason
end
loadfile = read
function dofile(path)
   local chunk, reason = read(path)
   if not chunk then
      error(reason, 0)
   end
   return chunk()
end
package.loaders[2] = function(name)
   local path, tried = package.searchpath(name, package.path)
   if not path then
      return tried
   end
   local chunk, reason = read(path)
   if not chunk then
      error(("error loading module '%s' from file '%s': %s"):format(name, path, reason), 0)
   end
   return chunk
end

local function described(e)
   if type(e) ~= "table" then
      return e
   end
   if e.sql_errmsg then
      local code = e.sql_state ~= "" and e.sql_state or tostring(e.sql_errno)
      return ("SQL error %s: %s, in `%s`"):format(code, e.sql_errmsg, tostring(e.query))
   end
   return "the script raised a table that is no error of a statement"
end

-- Calls a function of the script's: true and its first result, or false and the reason.
function host.protect(f, ...)
   local ok, result = pcall(f, ...)
   if ok then
      return true, result
   end
   return false, described(result)
end

-- One attempt of an event: 0 it is done, 1 it was the last one, 2 it is to be tried again, 3 it
-- failed, with the reason.
function host.attempt(event, tid)
   local ok, result = pcall(event, tid)
   if ok then
      return result and 1 or 0
   end
   if type(result) == "table" and result.errcode == sysbench.error.RESTART_EVENT then
      local hook = sysbench.hooks.before_restart_event
      if hook then
         local fine, reason = pcall(hook, result)
         if not fine then
            return 3, described(reason)
         end
      end
      return 2
   end
   return 3, described(result)
end

if host.quiet then
   print = function() end
   io.output("/dev/null")
   io.stdout = io.output()
end
io.stdout:setvbuf("no")
