-- An order of one customer, in the manner of sysbench-tpcc: several files, several threads in
-- prepare, text statements, bulk inserts.
require("shop_common")

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
end

function event()
   local buyer = sysbench.rand.uniform(1, sysbench.opt.customers)
   con:query("BEGIN")
   local credit = con:query_row(
      ("SELECT credit FROM customer WHERE id = %d FOR UPDATE"):format(buyer))
   con:query(("UPDATE customer SET credit = %d WHERE id = %d"):format(credit + 1, buyer))
   local rs = con:query(("SELECT id FROM item WHERE customer = %d"):format(buyer))
   for _ = 1, rs.nrows do
      local row = rs:fetch_row()
      assert(row[1])
   end
   con:query(("INSERT INTO orders (customer, note) VALUES (%d, '%s')"):format(
      buyer, sysbench.rand.string("@@@@-####")))
   con:query("COMMIT")
end

function thread_done()
   con:disconnect()
end

function sysbench.hooks.before_restart_event(e)
   con:query("ROLLBACK")
end
