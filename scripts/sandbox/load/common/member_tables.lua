-- Tables of its own for each member of a cluster, so that no row is written through two of them. The scripts draw the number of a table
-- from 1 to --tables; here each connection draws among those of the member that it leads to: of three, the second has tables 2, 5, 8, …
local draw, open_thread = sysbench.rand.uniform, thread_init

local function place_of(member)
   for place, host in ipairs(sysbench.opt.mysql_host) do
      if host == member then return place end
   end
   error(member .. " is not one of the members")
end

function thread_init()
   open_thread()
   local place = place_of(con:query_row("SELECT @@hostname"))
   local members, tables = #sysbench.opt.mysql_host, sysbench.opt.tables
   local own = math.floor((tables - place) / members) + 1
   function sysbench.rand.uniform(first, last)
      if first ~= 1 or last ~= tables then return draw(first, last) end
      return place + (draw(1, own) - 1) * members
   end
end
