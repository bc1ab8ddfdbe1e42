-- Concurrent CREATE, fill, ALTER and DROP TABLE; accompanying threads read and write a table of their own.
local engine = require("engine")

local LOAD_TABLE = "ddl_load"
local BATCH = 1000
local COLUMNS = "id INT NOT NULL PRIMARY KEY, amount INT NOT NULL, filler VARCHAR(100) NOT NULL, KEY amount (amount)"
-- One that newer servers do instantly, and one that reads every row.
local ALTERATIONS = {"ADD COLUMN noted INT NOT NULL DEFAULT 0", "ADD INDEX filler (filler)"}

local function nothing() end

local function create(connection, name) connection:other(("CREATE TABLE %s (%s) ENGINE=InnoDB"):format(name, COLUMNS)) end

local function fill(connection, name, first, last)
   local rows = {}
   for number = first, last do rows[#rows + 1] = ("(%d,%d,'filler-%08d')"):format(number, number, number) end
   connection:write(("INSERT INTO %s VALUES %s"):format(name, table.concat(rows, ",")))
end

engine.commands {
   create = function(connection)
      local rows = engine.number("load_rows")
      create(connection, LOAD_TABLE)
      for first = 1, rows, BATCH do fill(connection, LOAD_TABLE, first, math.min(rows, first + BATCH - 1)) end
      engine.progress(("created %s with %d rows"):format(LOAD_TABLE, rows))
   end,
}

-- A thread's own tables: all created and filled, each altered, then all dropped; a statement is a transaction.
local function definitions(job)
   local prefix, rows = ("ddl_t%d_"):format(job.number), engine.number("table_rows")
   local last, alters = engine.number("tables_per_thread") - 1, engine.flag("alter")
   local there = {}

   local function drop(name)
      job.connection:other("DROP TABLE " .. name)
      there[name] = nil
   end

   local steps = coroutine.wrap(function()
      while true do
         for number = 0, last do
            local name = prefix .. number
            coroutine.yield("create", function()
               create(job.connection, name)
               there[name] = true
            end)
            if rows > 0 then coroutine.yield("fill", function() fill(job.connection, name, 1, rows) end) end
         end
         for number = 0, alters and last or -1 do
            for _, change in ipairs(ALTERATIONS) do
               local statement = ("ALTER TABLE %s%d %s"):format(prefix, number, change)
               coroutine.yield("alter", function() job.connection:other(statement) end)
            end
         end
         for number = 0, last do coroutine.yield("drop", function() drop(prefix .. number) end) end
      end
   end)

   return {
      -- Leftovers of a killed load have the same names.
      open = function()
         job.connection = engine.connect(job.counters)
         for _, row in ipairs(job.connection:read(("SHOW TABLES LIKE '%s%%'"):format(prefix:gsub("_", "\\_")))) do drop(row[1]) end
      end,
      draw = steps,
      undo = nothing, -- a failed DDL statement leaves nothing behind
      close = function()
         for name in pairs(there) do drop(name) end
      end,
   }
end

-- The accompanying load: reads and updates single rows by turns, by primary key.
local function reads_and_writes(job)
   local rows, turn = engine.number("load_rows"), 0
   local read = ("SELECT amount, filler FROM %s WHERE id = "):format(LOAD_TABLE)
   local write = ("UPDATE %s SET amount = amount + 1 WHERE id = "):format(LOAD_TABLE)
   return {
      draw = function()
         local number = math.random(rows)
         turn = turn + 1
         if turn % 2 == 1 then return "read", function() job.connection:read(read .. number) end end
         return "write", function() job.connection:write(write .. number) end
      end,
      undo = nothing,
   }
end

engine.load {
   kinds = {"create", "fill", "alter", "drop", "read", "write"},
   background = {fill = true, read = true, write = true},
   thread = function(job) return (job.is_background and reads_and_writes or definitions)(job) end,
}
