-- The initial data of TPC-C (specification 5.11, clause 4.3.3.1), made in pieces by several threads.
local engine = require("engine")
local schema = require("tpcc.schema")
local tpcc = require("tpcc.random")

local BATCH = 1000
local ITEMS_OF_A_PIECE = 10000
local UNDELIVERED_SHARE = 0.3 -- 2,101 to 3,000 of 3,000 orders are new (clause 4.3.3.1)
local PAID = 10 -- by each customer: 30,000.00 in a district where there are 3,000 (condition 1)
local INTO = {history = "tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)"}

local random = math.random
local data = {}

-- The first order that is not delivered yet: 2,101 where there are 3,000.
function data.first_new_order(customers) return customers - math.floor(customers * UNDELIVERED_SHARE + 0.5) + 1 end

-- All pieces, the large ones first: what they hold, of which warehouse, and a district, or the first and last item.
function data.pieces(warehouses, items)
   local districts, stock, catalog, homes = {}, {}, {}, {}
   for warehouse = 1, warehouses do
      for district = 1, tpcc.DISTRICTS do districts[#districts + 1] = {what = "district", warehouse = warehouse, district = district} end
      homes[warehouse] = {what = "warehouse", warehouse = warehouse}
   end
   for first = 1, items, ITEMS_OF_A_PIECE do
      local last = math.min(items, first + ITEMS_OF_A_PIECE - 1)
      for warehouse = 1, warehouses do stock[#stock + 1] = {what = "stock", warehouse = warehouse, first = first, last = last} end
      catalog[#catalog + 1] = {what = "items", first = first, last = last}
   end
   local all = {}
   for _, list in ipairs {districts, stock, catalog, homes} do
      for _, piece in ipairs(list) do all[#all + 1] = piece end
   end
   return all
end

local function literal(value) return type(value) == "number" and ("%.14g"):format(value) or value == "NULL" and value or "'" .. value .. "'" end

-- Rows, a function of their number, go to a table in batches.
local function insert(connection, table_name, first, last, row_of)
   local into = ("INSERT INTO %s VALUES "):format(INTO[table_name] or "tpcc_" .. table_name)
   local rows = {}
   for number = first, last do
      local cells = row_of(number)
      for place, cell in ipairs(cells) do cells[place] = literal(cell) end
      rows[#rows + 1] = "(" .. table.concat(cells, ",") .. ")"
      if #rows == BATCH or number == last then
         connection:write(into .. table.concat(rows, ","))
         rows = {}
      end
   end
end

local function address()
   local function street() return tpcc.letters(10, 20) end
   return street(), street(), street(), tpcc.letters(2):upper(), tpcc.zip_code()
end

local function tax() return random(0, 2000) / 10000 end

local function item(number) return {number, random(10000), tpcc.letters(14, 24), random(100, 10000) / 100, tpcc.data()} end

local function stock_of(warehouse)
   return function(number)
      local cells = {number, warehouse, random(10, 100)}
      for district = 1, tpcc.DISTRICTS do cells[3 + district] = tpcc.letters(24) end
      for _, cell in ipairs {0, 0, 0, tpcc.data()} do cells[#cells + 1] = cell end
      return cells
   end
end

-- A row of fields, of which any may be several values.
local function row(fields, ...)
   for place = 1, select("#", ...) do fields[#fields + 1] = (select(place, ...)) end
   return fields
end

local function warehouse_row(number, customers)
   local cells = row({number, tpcc.letters(6, 10)}, address())
   return row(cells, tax(), tpcc.DISTRICTS * customers * PAID)
end

local function district_row(piece, customers)
   local cells = row({piece.district, piece.warehouse, tpcc.letters(6, 10)}, address())
   return row(cells, tax(), customers * PAID, customers + 1)
end

local function customer_of(piece, now)
   return function(number)
      local cells = {number, piece.district, piece.warehouse, tpcc.letters(8, 16), "OE", tpcc.name_of_load(number)}
      row(cells, address())
      local credit = random(10) == 1 and "BC" or "GC"
      row(cells, tpcc.digits(16), now, credit, 50000, random(0, 5000) / 10000, -PAID, PAID, 1, 0)
      return row(cells, tpcc.letters(300, 500))
   end
end

local function history_of(piece, now)
   local district, warehouse = piece.district, piece.warehouse
   return function(customer) return {customer, district, warehouse, district, warehouse, now, PAID, tpcc.letters(12, 24)} end
end

-- One order per customer, the customers in random order; the last 30% are not delivered yet.
local function fill_orders(connection, piece, customers, items, now)
   local district, warehouse, first_new = piece.district, piece.warehouse, data.first_new_order(customers)
   local buyers, lines, line_of = {}, {}, {}
   for number = 1, customers do
      buyers[number], lines[number] = number, random(5, 15)
      for line = 1, lines[number] do line_of[#line_of + 1] = {number, line} end
   end
   tpcc.shuffle(buyers)
   insert(connection, "orders", 1, customers, function(number)
      local carrier = number < first_new and random(10) or "NULL"
      return {number, district, warehouse, buyers[number], now, carrier, lines[number], 1}
   end)
   insert(connection, "order_line", 1, #line_of, function(place)
      local number, line = unpack(line_of[place])
      local delivered = number < first_new
      local cells = {number, district, warehouse, line, random(items), warehouse}
      return row(cells, delivered and now or "NULL", 5, delivered and 0 or random(999999) / 100, tpcc.letters(24))
   end)
   insert(connection, "new_order", first_new, customers, function(number) return {number, district, warehouse} end)
end

-- The rows of one piece.
function data.fill(connection, piece, customers, items)
   local now = os.date("!%Y-%m-%d %H:%M:%S")
   if piece.what == "items" then
      insert(connection, "item", piece.first, piece.last, item)
   elseif piece.what == "stock" then
      insert(connection, "stock", piece.first, piece.last, stock_of(piece.warehouse))
   elseif piece.what == "warehouse" then
      insert(connection, "warehouse", 1, 1, function() return warehouse_row(piece.warehouse, customers) end)
   else
      insert(connection, "district", 1, 1, function() return district_row(piece, customers) end)
      insert(connection, "customer", 1, customers, customer_of(piece, now))
      insert(connection, "history", 1, customers, history_of(piece, now))
      fill_orders(connection, piece, customers, items, now)
   end
end

function data.create(connection)
   for _, definition in ipairs(schema) do
      connection:other(("CREATE TABLE tpcc_%s (%s) ENGINE=InnoDB"):format(definition[1], definition[2]:gsub("%s+", " ")))
   end
end

-- Every thread fills its share of the pieces; the same piece has the same rows each time, except for timestamps.
function data.fill_share(connection, thread, threads)
   local pieces = data.pieces(engine.number("warehouses"), engine.number("items"))
   for number = thread + 1, #pieces, threads do
      math.randomseed(number)
      data.fill(connection, pieces[number], engine.number("customers"), engine.number("items"))
      if thread == 0 then engine.progress(("about %d%% of the data created"):format(100 * math.min(number + threads - 1, #pieces) / #pieces)) end
   end
end

return data
