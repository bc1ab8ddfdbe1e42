-- Runs the transactions of a workload's threads and counts them by kind; prints JSON lines: each second, the errors, the summary.
-- sysbench provides threads and options, this file the loop: sysbench's own counts neither kinds nor error codes.
--
-- A workload calls engine.load{kinds = {…}, background = {kind = true}, thread = function(job) … end}. The function returns a table with
--   draw()    the next transaction: its kind, and a function that runs it with the same values on each attempt
--   open()    optional: before the clock starts; by default it connects            (job.connection)
--   undo()    optional: after a conflict, before the next attempt; by default ROLLBACK
--   settle()  optional: after each attempt, outside its latency
--   close()   optional: after the last transaction, outside the measured time
-- Threads share nothing in Lua: what they count is in memory that all of them see, one writer for each cell.
local ffi, bit = require("ffi"), require("bit")
local mysql = require("mysql")

ffi.cdef [[
typedef struct { long seconds, nanoseconds; } sandbox_time;
int clock_gettime(int clock, sandbox_time *time);
int usleep(unsigned int microseconds);
int setenv(const char *name, const char *value, int overwrite);
void *calloc(size_t count, size_t size);
int pthread_setcancelstate(int state, int *before);

typedef struct { uint32_t counts[3328]; double sum_us, max_us; } sandbox_histogram;
typedef struct {
   double connections, reads, writes, others, ended;
   uint32_t conflicts[6];
   uint32_t errors;
   char code[16], message[320];
   sandbox_histogram latencies;
} sandbox_counters;
typedef struct {
   double began, second;
   int failed;
   sandbox_counters reported;
   sandbox_counters *threads;
   sandbox_histogram *kinds;
} sandbox_load;
]]

local BUCKETS = 3328 -- 2^32 µs; wider than that is counted in the last one
local SUB_BUCKET_BITS = 7
local MONOTONIC = 1
local CANCEL_ENABLE, CANCEL_DISABLE = 0, 1
local POLL_US = 50000 -- how soon an error in one thread ends the others
local ADDRESS = "SANDBOX_LOAD"

-- Deadlock (and every certification or brute-force abort of Galera), lock wait timeout, record changed since it was read, certification
-- conflict of Group Replication, its deadlock at COMMIT: the transaction is rolled back and tried again. A rollback that the workload wants
-- is not.
local CONFLICTS = {"1213", "1205", "1020", "3101", "1180", "expected"}
local EXPECTED = #CONFLICTS - 1
local SLOT_OF = {}
for slot, code in ipairs(CONFLICTS) do SLOT_OF[code] = slot - 1 end

local engine = {EXPECTED_ROLLBACK = {}}

local time = ffi.new("sandbox_time")
local function now()
   ffi.C.clock_gettime(MONOTONIC, time)
   return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end

-- Options as sysbench hands them over for a script that declares none: text.
function engine.option(name) return sysbench.opt[name] end
function engine.number(name) return (assert(tonumber(sysbench.opt[name]), "no option --" .. name)) end
function engine.flag(name) return ({on = true, off = false})[sysbench.opt[name]] end

-- What went wrong: code and message; "unknown" for a defect of a script.
local function described(problem)
   if type(problem) ~= "table" then return "unknown", tostring(problem) end
   return tostring(problem.code), problem.message
end

-- ---------------------------------------------------------------------------------------------------------------------------- JSON

local function quote(text)
   local function escape(character) return ("\\u%04x"):format(character:byte()) end
   return '"' .. text:gsub('[%c"\\]', escape) .. '"'
end

-- Members are numbers, or JSON already.
local function object(members)
   local names, parts = {}, {}
   for name in pairs(members) do names[#names + 1] = name end
   table.sort(names)
   for place, name in ipairs(names) do parts[place] = quote(name) .. ":" .. tostring(members[name]) end
   return "{" .. table.concat(parts, ",") .. "}"
end

local function emit(members)
   io.write(object(members) .. "\n")
   io.flush()
end

function engine.progress(text) emit {progress = quote(text)} end

-- ---------------------------------------------------------------------------------------------------------------------- histograms

-- Exact below 256 µs, then 128 buckets for each doubling, as HdrHistogram does (load_output.py reads them).
local function bucket_of(value_us)
   local _, bits = math.frexp(value_us)
   local shift = math.max(0, bits - SUB_BUCKET_BITS - 1)
   return math.min(bit.lshift(shift, SUB_BUCKET_BITS) + math.floor(value_us / 2 ^ shift), BUCKETS - 1)
end
engine.bucket_of = bucket_of

local function add(histogram, value_us)
   local bucket = bucket_of(value_us)
   histogram.counts[bucket] = histogram.counts[bucket] + 1
   histogram.sum_us = histogram.sum_us + value_us
   histogram.max_us = math.max(histogram.max_us, value_us)
end

local function merge(into, histogram)
   for bucket = 0, BUCKETS - 1 do into.counts[bucket] = into.counts[bucket] + histogram.counts[bucket] end
   into.sum_us = into.sum_us + histogram.sum_us
   into.max_us = math.max(into.max_us, histogram.max_us)
end

-- Pairs of bucket and count, sum and maximum.
local function histogram_json(histogram)
   local pairs_of = {}
   for bucket = 0, BUCKETS - 1 do
      local count = histogram.counts[bucket]
      if count > 0 then pairs_of[#pairs_of + 1] = ("[%d,%d]"):format(bucket, count) end
   end
   local counts = "[" .. table.concat(pairs_of, ",") .. "]"
   return object {counts = counts, sum_us = histogram.sum_us, max_us = histogram.max_us}
end

-- ---------------------------------------------------------------------------------------------------------------------- connection

local Connection = {}
Connection.__index = Connection

-- Of several hosts, each connection goes to the next one; threads begin at different ones.
local turn
local function next_host()
   local hosts = sysbench.opt.mysql_host
   turn = turn and turn + 1 or sysbench.tid or 0
   return hosts[turn % #hosts + 1]
end

-- Counts statements as they are sent, whatever their outcome.
function engine.connect(counters)
   local self = setmetatable({counters = counters or ffi.new("sandbox_counters")}, Connection)
   self.server = mysql.connect(sysbench.opt, next_host())
   self.counters.connections = self.counters.connections + 1
   return self
end

-- Rows of a query, each with its cells as text; a NULL is nil.
function Connection:read(statement)
   self.counters.reads = self.counters.reads + 1
   return self.server:query(statement)
end

function Connection:write(statement)
   self.counters.writes = self.counters.writes + 1
   self.server:query(statement)
end

-- What neither reads nor writes rows: transaction control, DDL.
function Connection:other(statement)
   self.counters.others = self.counters.others + 1
   self.server:query(statement)
end

function Connection:close() self.server:close() end

-- ---------------------------------------------------------------------------------------------------------------------------- load

local workload, load, own -- own: the counters of this thread

local function attach()
   local address = assert(os.getenv(ADDRESS), "init() did not run")
   load = ffi.cast("sandbox_load *", tonumber(address))
end

local function threads() return sysbench.opt.threads end
local function foreground() return threads() - engine.number("background_threads") end
local function kind_at(number, place) return load.kinds[number * #workload.kinds + place - 1] end

local function fail(during, problem)
   local code, message = described(problem)
   own.errors = 1
   ffi.copy(own.code, code:sub(1, 15))
   ffi.copy(own.message, ("%s (%s)"):format(message, during):sub(1, 319))
   load.failed = 1
end

-- In sysbench's main state, before any thread: the memory that all of them count in.
local function allocate()
   load = ffi.cast("sandbox_load *", ffi.C.calloc(1, ffi.sizeof("sandbox_load")))
   load.threads = ffi.cast("sandbox_counters *", ffi.C.calloc(threads(), ffi.sizeof("sandbox_counters")))
   load.kinds = ffi.cast("sandbox_histogram *", ffi.C.calloc(threads() * #workload.kinds, ffi.sizeof("sandbox_histogram")))
   ffi.C.setenv(ADDRESS, ("%d"):format(tonumber(ffi.cast("uintptr_t", load))), 1)
end

local job, thread

local function open_thread(number)
   attach()
   own = load.threads[number]
   math.randomseed(engine.number("seed") * 10007 + number)
   job = {number = number, threads = foreground(), is_background = number >= foreground(), counters = own}
   thread = workload.thread(job)
   local opened, problem = pcall(thread.open or function() job.connection = engine.connect(own) end)
   if not opened then fail("connecting", problem) end
end

local function wait_until(moment)
   local left = moment - now()
   while left > 0 and load.failed == 0 do
      ffi.C.usleep(math.min(left * 1e6, POLL_US))
      left = moment - now()
   end
   return load.failed == 0
end

-- When the next transaction is due: at once, or after exponential gaps, so that all threads together form a Poisson process of the
-- rate. Its latency counts from then, including a wait behind a slow one.
local function pace()
   local rate = tonumber(sysbench.opt.pace_per_s)
   if not rate or job.is_background then return now end
   local due = load.began
   return function()
      due = due - math.log(1 - math.random()) * foreground() / rate
      return due
   end
end

local function done(kind, latency_us)
   add(kind_at(job.number, workload.place_of[kind]), latency_us)
   if not workload.background[kind] then add(own.latencies, latency_us) end
end

-- The place of a conflict among CONFLICTS; nil for any other error. A COMMIT also fails (1180) for other reasons than a deadlock (149).
local function slot_of(problem)
   if problem == engine.EXPECTED_ROLLBACK then return EXPECTED end
   local code, message = described(problem)
   if code == "1180" and not message:find("error 149", 1, true) then return end
   return SLOT_OF[code]
end

-- One transaction, tried again until it completes or the time is over. Returns the error that ends the load, if any.
local function transact(due, deadline)
   local kind, attempt = thread.draw()
   local undo = thread.undo or function() job.connection:other("ROLLBACK") end
   repeat
      local completed, problem = pcall(attempt)
      if completed then done(kind, math.floor((now() - due) * 1e6 + 0.5)) end
      if thread.settle then thread.settle() end
      if completed then return end
      local slot = slot_of(problem)
      if not slot then error(problem, 0) end
      own.conflicts[slot] = own.conflicts[slot] + 1
      if slot == EXPECTED then return end
      undo()
   until now() >= deadline or load.failed ~= 0
end

local function run_until(deadline)
   local next_due = pace()
   while true do
      local due = next_due()
      if due >= deadline or not wait_until(due) or now() >= deadline then return end
      transact(due, deadline)
   end
end

local function run_thread()
   if own.errors > 0 then return end
   if load.began == 0 then load.began = now() end
   local ran, problem = pcall(run_until, load.began + sysbench.opt.time)
   own.ended = now()
   if not ran then fail("the load", problem) end
   local closed, last = pcall(thread.close or function() end)
   if ran and not closed then fail("closing", last) end
   if job.connection then job.connection:close() end
end

-- -------------------------------------------------------------------------------------------------------------------------- report

-- What all threads have counted so far.
local function totals()
   local sum = ffi.new("sandbox_counters")
   for number = 0, threads() - 1 do
      local one = load.threads[number]
      for _, name in ipairs {"connections", "reads", "writes", "others", "errors"} do sum[name] = sum[name] + one[name] end
      for slot = 0, EXPECTED do sum.conflicts[slot] = sum.conflicts[slot] + one.conflicts[slot] end
      sum.ended = math.max(sum.ended, one.ended)
      merge(sum.latencies, one.latencies)
   end
   return sum
end

local function conflicts_json(counters, before)
   local found = {}
   for slot = 0, EXPECTED do
      local count = counters.conflicts[slot] - (before and before.conflicts[slot] or 0)
      if count > 0 then found[CONFLICTS[slot + 1]] = count end
   end
   return object(found)
end

-- Count and 95th percentile (nearest rank) of what was counted since.
local function transactions_since(histogram, before)
   local count, seen, differences = 0, 0, {}
   for bucket = 0, BUCKETS - 1 do
      differences[bucket] = histogram.counts[bucket] - before.counts[bucket]
      count = count + differences[bucket]
   end
   for bucket = 0, BUCKETS - 1 do
      seen = seen + differences[bucket]
      if count > 0 and seen >= math.max(1, math.floor(count * 0.95 + 0.5)) then
         local shift = math.max(0, bit.rshift(bucket, SUB_BUCKET_BITS) - 1)
         return count, bit.lshift(bucket - bit.lshift(shift, SUB_BUCKET_BITS) + 1, shift) - 1
      end
   end
   return count, "null"
end

-- A load that overruns its time reports no further seconds.
local function report_second()
   if load.began == 0 or load.second >= sysbench.opt.time then return end
   local sum, before = totals(), load.reported
   local count, p95_us = transactions_since(sum.latencies, before.latencies)
   load.second = load.second + 1
   emit {
      second = load.second,
      threads = foreground(),
      transactions = count,
      p95_us = p95_us,
      connections = sum.connections - before.connections,
      reads = sum.reads - before.reads,
      writes = sum.writes - before.writes,
      others = sum.others - before.others,
      conflicts = conflicts_json(sum, before),
      errors = sum.errors - before.errors,
   }
   ffi.copy(before, sum, ffi.sizeof("sandbox_counters"))
end

local function errors_by_code()
   local found = {}
   for number = 0, threads() - 1 do
      local one = load.threads[number]
      if one.errors > 0 then
         local code = ffi.string(one.code)
         if not found[code] then emit {error = quote(code), message = quote(ffi.string(one.message))} end
         found[code] = (found[code] or 0) + 1
      end
   end
   return object(found)
end

local function kinds_json()
   local found = {}
   for place, kind in ipairs(workload.kinds) do
      local sum = ffi.new("sandbox_histogram")
      for number = 0, threads() - 1 do merge(sum, kind_at(number, place)) end
      if sum.max_us > 0 or sum.counts[0] > 0 then found[kind] = histogram_json(sum) end
   end
   return object(found)
end

local function report_summary()
   if load.failed == 0 and load.second == sysbench.opt.time - 1 then report_second() end
   local sum, background = totals(), {}
   for _, kind in ipairs(workload.kinds) do
      if workload.background[kind] then background[#background + 1] = quote(kind) end
   end
   emit {
      summary = object {
         seconds = ("%.4f"):format(load.began > 0 and math.max(0, sum.ended - load.began) or 0),
         connections = sum.connections,
         reads = sum.reads,
         writes = sum.writes,
         others = sum.others,
         conflicts = conflicts_json(sum),
         errors = errors_by_code(),
         background = "[" .. table.concat(background, ",") .. "]",
         kinds = kinds_json(),
      },
   }
end

-- Installs the load as sysbench's, see above.
function engine.load(definition)
   workload = {kinds = definition.kinds, background = definition.background or {}, thread = definition.thread, place_of = {}}
   for place, kind in ipairs(workload.kinds) do workload.place_of[kind] = place end
   init, thread_init, thread_run = allocate, open_thread, run_thread
   function event() end -- sysbench insists on one
   function sysbench.hooks.report_intermediate()
      if not load then attach() end
      -- sysbench cancels this thread when the load ends, and would do so in the middle of a line.
      ffi.C.pthread_setcancelstate(CANCEL_DISABLE, nil)
      report_second()
      ffi.C.pthread_setcancelstate(CANCEL_ENABLE, nil)
   end
   sysbench.hooks.report_cumulative = report_summary
end

-- Installs functions as commands that make data; `parallel` of them run in every thread. Each gets a connection, and their number.
function engine.commands(serial, parallel)
   local commands = {}
   local function command(make)
      return function()
         local ran, problem = pcall(function() make(engine.connect(), threads() > 1 and sysbench.tid or 0, threads()) end)
         if ran then return true end
         local code, message = described(problem)
         emit {error = quote(code), message = quote(message)}
         return false
      end
   end
   for name, make in pairs(serial) do commands[name] = {command(make)} end
   for name, make in pairs(parallel or {}) do commands[name] = {command(make), sysbench.cmdline.PARALLEL_COMMAND} end
   sysbench.cmdline.commands = commands
end

return engine
