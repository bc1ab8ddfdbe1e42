-- A member that leaves takes its own connections along, not the whole load, which sysbench would end: the threads of that member wait
-- until the runner says that it takes writes again, those of the others go on. What was under way then is no transaction.
-- (`sysbench_run`: sysbench's own loop, as it was before the script.)
local ffi = require("ffi")
pcall(ffi.cdef, "typedef struct { long seconds, nanoseconds; } sandbox_moment;")
pcall(ffi.cdef, "int clock_gettime(int clock, sandbox_moment *time);")
pcall(ffi.cdef, "int usleep(unsigned int microseconds);")

-- Not prepared (Galera), shutdown, read-only, interrupted, connection killed, the client's own of a lost or refused connection, a hook
-- of Group Replication that fails since the member has left.
local LOST = {
   [1047] = true, [1053] = true, [1290] = true, [1317] = true, [1836] = true, [1927] = true, [2002] = true, [2003] = true,
   [2006] = true, [2011] = true, [2013] = true, [2055] = true, [3100] = true,
}
local COMMIT_FAILED, PROVIDER = 1180, "provider status" -- of other reasons, too
local RETURNS = "/tmp/sandbox-members/" -- a file for each member: how often it has come back (members.py)
local POLL_US = 200000
local TRIES = 3 -- other threads take their turns in between
local MONOTONIC = 1
local open_thread, script_run, is_ignorable = thread_init, thread_run, sysbench.hooks.sql_error_ignorable
local member, returns, began = nil, 0, nil

local moment = ffi.new("sandbox_moment")
local function now()
   ffi.C.clock_gettime(MONOTONIC, moment)
   return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

local function say(text) io.write(("member %s %s\n"):format(member, text)) io.flush() end

function thread_init(...)
   open_thread(...)
   if con then member = con:query_row("SELECT @@hostname") end
end

local function is_lost(problem)
   local code = tonumber(problem.sql_errno)
   return LOST[code] or (code == COMMIT_FAILED and problem.sql_errmsg:find(PROVIDER, 1, true) ~= nil)
end

function sysbench.hooks.sql_error_ignorable(problem)
   return is_lost(problem) or (is_ignorable and is_ignorable(problem)) or false
end

local function returns_so_far()
   local file = io.open(RETURNS .. member)
   if not file then return 0 end
   local count = tonumber(file:read("*a")) or 0
   file:close()
   return count
end

-- A connection of the script's own making. What was prepared on the old one is left to the garbage collector: to close it, or to use
-- sysbench's reconnect, ends the process with a client library that has lost the connection.
local function connect_anew()
   if not prepare_statements then return open_thread() end
   con, stmt, param = drv:connect(), {}, {}
   for number = 1, sysbench.opt.tables do stmt[number], param[number] = {}, {} end
   prepare_statements()
end

-- sysbench's connections go to one host after the other, whoever asks; raises an error where none led to the member.
local function reopen()
   for _ = 1, TRIES * #sysbench.opt.mysql_host do
      connect_anew()
      if con:query_row("SELECT @@hostname") == member then return end
   end
   error("no connection led to " .. member)
end

-- Whether it came back before the end of the load.
local function wait_until_back(problem, deadline)
   local code, message = tonumber(problem.sql_errno), problem.sql_errmsg
   say(("lost at %.2f s: error %d (%s)"):format(now() - began, code, message))
   while now() < deadline do
      local count = returns_so_far()
      if count > returns then
         returns = count
         if pcall(reopen) then
            say(("back at %.2f s"):format(now() - began))
            return true
         end
      end
      ffi.C.usleep(POLL_US)
   end
   return false
end

-- One transaction, begun again after each conflict: what the script returned, or the error that shows that the member is gone.
local function transact(thread_id)
   while true do
      local completed, result = pcall(event, thread_id)
      if completed then return result end
      if type(result) ~= "table" or result.errcode ~= sysbench.error.RESTART_EVENT then error(result, 0) end
      if is_lost(result) then return nil, result end
      if sysbench.hooks.before_restart_event then sysbench.hooks.before_restart_event(result) end
   end
end

local function run_through_losses(thread_id)
   began = now()
   local deadline = began + sysbench.opt.time
   while ffi.C.sb_more_events(thread_id) do
      ffi.C.sb_event_start(thread_id)
      local ended, problem = transact(thread_id)
      if ended or (problem and not wait_until_back(problem, deadline)) then break end
      if not problem then ffi.C.sb_event_stop(thread_id) end
   end
end

function thread_run(thread_id)
   if not member or script_run ~= sysbench_run then return script_run(thread_id) end
   run_through_losses(thread_id)
end
