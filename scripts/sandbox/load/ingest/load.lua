-- Batch inserts into tables with secondary indexes; a transaction is a batch.
local engine = require("engine")

-- They grow at the right edge, over a thousand tags, and at random: the cost of an index depends on where it grows.
local INDEXES = {"KEY device_at (device, taken_us)", "KEY tag (tag)", "KEY reading (reading)"}
local DEVICES, TAGS = 10000, 1000
local PAYLOAD = ("0123456789abcdefghijklmnopqrstuvwxyz"):rep(40)
local FIRST_US = 1.7e15
local INTO = "INSERT INTO ingest_%d (device, taken_us, tag, reading, payload) VALUES "

local function definition(number, indexes)
   local columns = {
      "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
      "device INT NOT NULL",
      "taken_us BIGINT NOT NULL",
      "tag VARCHAR(32) NOT NULL",
      "reading DOUBLE NOT NULL",
      "payload VARCHAR(1000) NOT NULL",
      unpack(INDEXES, 1, indexes),
   }
   return ("CREATE TABLE ingest_%d (%s) ENGINE=InnoDB"):format(number, table.concat(columns, ", "))
end

engine.commands {
   create = function(connection)
      local tables = engine.number("tables")
      for number = 1, tables do connection:other(definition(number, engine.number("indexes"))) end
      engine.progress(("created %d empty tables"):format(tables))
   end,
}

engine.load {
   kinds = {"batch"},
   -- A thread inserts into one table; where there are fewer tables than threads, they share.
   thread = function(job)
      local into = INTO:format(job.number % engine.number("tables") + 1)
      local batch_rows, payload_bytes = engine.number("batch_rows"), engine.number("payload_bytes")
      local random, taken_us = math.random, FIRST_US + job.number

      -- Nothing in it needs quoting.
      local function row()
         taken_us = taken_us + 1000
         local start = random(36)
         local payload = PAYLOAD:sub(start, start + payload_bytes - 1)
         return ("(%d,%.0f,'tag-%d',%.9f,'%s')"):format(
            random(0, DEVICES - 1), taken_us, random(0, TAGS - 1), random(), payload)
      end

      return {
         draw = function()
            local rows = {}
            for place = 1, batch_rows do rows[place] = row() end
            local statement = into .. table.concat(rows, ",")
            return "batch", function() job.connection:write(statement) end
         end,
         undo = function() end, -- the server has already rolled a single statement back
      }
   end,
}
