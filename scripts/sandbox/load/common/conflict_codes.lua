-- Counts by their codes the conflicts after which sysbench restarts a transaction; each thread prints its own when it ends. Where several
-- members write, the servers cannot say: Galera counts many a conflict twice, as an abort by the applier and as a failed certification.
local counts, restart, end_thread = {}, sysbench.hooks.before_restart_event, thread_done

function sysbench.hooks.before_restart_event(problem)
   counts[problem.sql_errno] = (counts[problem.sql_errno] or 0) + 1
   if restart then restart(problem) end
end

function thread_done(...)
   if end_thread then end_thread(...) end
   for code, count in pairs(counts) do io.write(("conflicts of code %d: %d\n"):format(code, count)) end
   io.flush()
end
