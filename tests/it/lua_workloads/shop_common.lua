sysbench.cmdline.options = {
   customers = {"Number of customers", 100},
   items = {"Items of each customer", 10},
}

local function create(con, driver)
   local serial = driver:name() == "pgsql" and "SERIAL" or "INT AUTO_INCREMENT"
   con:query("CREATE TABLE customer (id INT PRIMARY KEY, credit INT NOT NULL)")
   con:query("CREATE TABLE item (id INT PRIMARY KEY, customer INT NOT NULL)")
   con:query(("CREATE TABLE orders (id %s PRIMARY KEY, customer INT, note VARCHAR(20))"):format(serial))
   con:query("CREATE INDEX item_customer ON item (customer)")
end

-- Every thread loads customers of its own; the first one has created the tables.
function prepare_shop()
   local driver = sysbench.sql.driver()
   local con = driver:connect()
   if sysbench.tid == 0 then create(con, driver) end
   while not pcall(con.query, con, "SELECT 1 FROM orders WHERE id = 0") do end
   local of = sysbench.opt.items
   con:bulk_insert_init("INSERT INTO customer VALUES")
   for id = 1 + sysbench.tid, sysbench.opt.customers, sysbench.opt.threads do
      con:bulk_insert_next(("(%d, 0)"):format(id))
   end
   con:bulk_insert_done()
   con:bulk_insert_init("INSERT INTO item VALUES")
   for id = 1 + sysbench.tid, sysbench.opt.customers, sysbench.opt.threads do
      for n = 1, of do con:bulk_insert_next(("(%d, %d)"):format((id - 1) * of + n, id)) end
   end
   con:bulk_insert_done()
end

sysbench.cmdline.commands = { prepare = { prepare_shop, sysbench.cmdline.PARALLEL_COMMAND } }
