-- Connect, one query, disconnect; latency covers both the connect and the query.
local engine = require("engine")

engine.load {
   kinds = {"connect"},
   thread = function(job)
      local query = engine.option("query")

      local function disconnect()
         if job.connection then job.connection:close() end
         job.connection = nil
      end

      local function attempt()
         job.connection = engine.connect(job.counters)
         job.connection:read(query)
      end

      return {
         -- A failure to connect shows before the clock starts.
         open = function()
            job.connection = engine.connect(job.counters)
            disconnect()
         end,
         draw = function() return "connect", attempt end,
         settle = disconnect,
         undo = function() end, -- a single query has nothing to roll back
      }
   end,
}
