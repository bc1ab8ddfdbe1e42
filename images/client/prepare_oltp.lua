-- sysbench's own preparation of its OLTP tables, with ids from 1 up without gaps: its statements draw ids up to --table-size, and on a
-- server that counts in steps (Galera counts by cluster size, Group Replication by 7) most of them would find no row.
require("oltp_common")

local create_table_as_shipped = create_table

-- The connection as create_table knows it. Its first query makes the table, with an automatic id; from then on rows bring their own.
local function connection_for_own_ids(connection)
   local own = {}
   function own:query(statement)
      sysbench.opt.auto_inc = false
      return connection:query(statement)
   end
   local function pass_on(_, name)
      return function(_, ...) return connection[name](connection, ...) end
   end
   return setmetatable(own, {__index = pass_on})
end

function create_table(driver, connection, number)
   local automatic = sysbench.opt.auto_inc
   create_table_as_shipped(driver, connection_for_own_ids(connection), number)
   sysbench.opt.auto_inc = automatic
end
