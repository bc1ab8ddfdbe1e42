-- The five transactions of TPC-C (specification 5.11, clauses 2.4 to 2.8), without keying and think times.
local engine = require("engine")
local data = require("tpcc.data")
local tpcc = require("tpcc.random")

local LONGEST_CUSTOMER_DATA = 500
local random, floor = math.random, math.floor

local function now() return os.date("!%Y-%m-%d %H:%M:%S") end

-- An amount of money from cents.
local function money(cents) return ("%d.%02d"):format(floor(cents / 100), cents % 100) end

-- One line of an order: price, stock, and the line itself.
local function order_line(connection, order, number, line)
   local found = connection:read(("SELECT i_price, i_name, i_data FROM tpcc_item WHERE i_id = %d"):format(line.item))[1]
   if not found then
      connection:other("ROLLBACK")
      error(engine.EXPECTED_ROLLBACK, 0)
   end
   local stock = ("s_w_id = %d AND s_i_id = %d"):format(line.supplier, line.item)
   local quantity, dist_info = unpack(connection:read(
      ("SELECT s_quantity, s_dist_%02d, s_data FROM tpcc_stock WHERE %s FOR UPDATE"):format(order.district, stock))[1])
   quantity = tonumber(quantity)
   local left = quantity >= line.quantity + 10 and quantity - line.quantity or quantity - line.quantity + 91
   connection:write(
      ("UPDATE tpcc_stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d"
         .. " WHERE %s"):format(left, line.quantity, line.supplier == order.warehouse and 0 or 1, stock))
   local amount = money(line.quantity * floor(tonumber(found[1]) * 100 + 0.5))
   connection:write(("INSERT INTO tpcc_order_line VALUES (%d, %d, %d, %d, %d, %d, NULL, %d, %s, '%s')"):format(
      order.id, order.district, order.warehouse, number, line.item, line.supplier, line.quantity, amount, dist_info))
end

-- The customers of one name, by first name: the middle one (clause 2.5.2.2).
local function customer_of_name(connection, home, name)
   local rows = connection:read(
      ("SELECT c_id FROM tpcc_customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first"):format(
         home.warehouse, home.district, name))
   return tonumber(tpcc.middle(rows)[1])
end

-- A customer is a number, or a name.
local function customer_number(connection, home, customer)
   return type(customer) == "number" and customer or customer_of_name(connection, home, customer)
end

local transactions = {}

-- Clause 2.4.2. Ends with EXPECTED_ROLLBACK where the last item does not exist.
function transactions.new_order(connection, warehouse, district, customer, lines)
   local home = ("d_w_id = %d AND d_id = %d"):format(warehouse, district)
   connection:other("BEGIN")
   connection:read(("SELECT w_tax FROM tpcc_warehouse WHERE w_id = %d"):format(warehouse))
   local found = connection:read(("SELECT d_tax, d_next_o_id FROM tpcc_district WHERE %s FOR UPDATE"):format(home))[1]
   local order = {id = tonumber(found[2]), warehouse = warehouse, district = district}
   connection:write(("UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE %s"):format(home))
   connection:read(
      ("SELECT c_discount, c_last, c_credit FROM tpcc_customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d"):format(
         warehouse, district, customer))
   local all_local = 1
   for _, line in ipairs(lines) do
      if line.supplier ~= warehouse then all_local = 0 end
   end
   connection:write(
      ("INSERT INTO tpcc_orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)"
         .. " VALUES (%d, %d, %d, %d, '%s', %d, %d)"):format(order.id, district, warehouse, customer, now(), #lines, all_local))
   connection:write(("INSERT INTO tpcc_new_order VALUES (%d, %d, %d)"):format(order.id, district, warehouse))
   for number, line in ipairs(lines) do order_line(connection, order, number, line) end
   connection:other("COMMIT")
end

-- The customer pays: the balance, and what a customer with bad credit is remembered for.
local function charge(connection, home, payer, customer, amount)
   local number = customer_number(connection, payer, customer)
   local key = ("c_w_id = %d AND c_d_id = %d AND c_id = %d"):format(payer.warehouse, payer.district, number)
   local credit, text = unpack(connection:read(
      ("SELECT c_credit, c_data FROM tpcc_customer WHERE %s FOR UPDATE"):format(key))[1])
   if credit == "BC" then
      text = ("%d %d %d %d %d %s | %s"):format(
         number, payer.district, payer.warehouse, home.district, home.warehouse, amount, text):sub(1, LONGEST_CUSTOMER_DATA)
   end
   connection:write(
      ("UPDATE tpcc_customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, c_payment_cnt = c_payment_cnt + 1,"
         .. " c_data = '%s' WHERE %s"):format(amount, amount, text, key))
   return number
end

-- Clause 2.5.2. `payer`: warehouse and district of the customer who pays.
function transactions.payment(connection, warehouse, district, payer, customer, cents)
   local amount = money(cents)
   local of_warehouse = ("w_id = %d"):format(warehouse)
   local of_district = ("d_w_id = %d AND d_id = %d"):format(warehouse, district)
   connection:other("BEGIN")
   connection:write(("UPDATE tpcc_warehouse SET w_ytd = w_ytd + %s WHERE %s"):format(amount, of_warehouse))
   local warehouse_name = connection:read(
      ("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM tpcc_warehouse WHERE %s"):format(of_warehouse))[1][1]
   connection:write(("UPDATE tpcc_district SET d_ytd = d_ytd + %s WHERE %s"):format(amount, of_district))
   local district_name = connection:read(
      ("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM tpcc_district WHERE %s"):format(of_district))[1][1]
   local number = charge(connection, {warehouse = warehouse, district = district}, payer, customer, amount)
   connection:write(
      ("INSERT INTO tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)"
         .. " VALUES (%d, %d, %d, %d, %d, '%s', %s, '%s    %s')"):format(
         number, payer.district, payer.warehouse, district, warehouse, now(), amount, warehouse_name, district_name))
   connection:other("COMMIT")
end

-- Clause 2.6.2: a customer's last order and its lines.
function transactions.order_status(connection, home, customer)
   local warehouse, district = home.warehouse, home.district
   connection:other("BEGIN")
   local number = customer_number(connection, home, customer)
   connection:read(
      ("SELECT c_balance, c_first, c_middle, c_last FROM tpcc_customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d"):format(
         warehouse, district, number))
   local order = connection:read(
      ("SELECT o_id, o_entry_d, o_carrier_id FROM tpcc_orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d"
         .. " ORDER BY o_id DESC LIMIT 1"):format(warehouse, district, number))[1]
   connection:read(
      ("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM tpcc_order_line"
         .. " WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d"):format(warehouse, district, order[1]))
   connection:other("COMMIT")
end

-- One order: no longer new, carried, its lines dated, its customer charged.
local function deliver(connection, warehouse, district, order, carrier)
   local of_order = ("o_w_id = %d AND o_d_id = %d AND o_id = %d"):format(warehouse, district, order)
   local of_lines = ("ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d"):format(warehouse, district, order)
   connection:write(("DELETE FROM tpcc_new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d"):format(warehouse, district, order))
   connection:write(("UPDATE tpcc_orders SET o_carrier_id = %d WHERE %s"):format(carrier, of_order))
   -- The order may be newer than this transaction's snapshot, since it was found by a locking read: a plain read sees it once it is changed.
   local customer = connection:read(("SELECT o_c_id FROM tpcc_orders WHERE %s"):format(of_order))[1][1]
   connection:write(("UPDATE tpcc_order_line SET ol_delivery_d = '%s' WHERE %s"):format(now(), of_lines))
   local amount = connection:read(("SELECT SUM(ol_amount) FROM tpcc_order_line WHERE %s"):format(of_lines))[1][1]
   connection:write(
      ("UPDATE tpcc_customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1"
         .. " WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d"):format(amount, warehouse, district, customer))
end

-- Clause 2.7.4: the oldest new order of each district; a district without one is skipped.
function transactions.delivery(connection, warehouse, carrier)
   connection:other("BEGIN")
   for district = 1, tpcc.DISTRICTS do
      local oldest = connection:read(
         ("SELECT no_o_id FROM tpcc_new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE"):format(
            warehouse, district))[1]
      if oldest then deliver(connection, warehouse, district, oldest[1], carrier) end
   end
   connection:other("COMMIT")
end

-- Clause 2.8.2: how many items of the last 20 orders are short in stock.
function transactions.stock_level(connection, warehouse, district, threshold)
   connection:other("BEGIN")
   local upcoming = tonumber(connection:read(
      ("SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = %d AND d_id = %d"):format(warehouse, district))[1][1])
   connection:read(
      ("SELECT COUNT(DISTINCT s_i_id) FROM tpcc_order_line JOIN tpcc_stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id"
         .. " WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d AND ol_o_id >= %d AND s_quantity < %d"):format(
         warehouse, district, upcoming, upcoming - 20, threshold))
   connection:other("COMMIT")
end

-- A terminal: its home warehouse, and a deck of transactions. Each draw gives the arguments of a transaction, after its connection.
local function terminal(job)
   local warehouses, customers, items = engine.number("warehouses"), engine.number("customers"), engine.number("items")
   local home = job.number % warehouses + 1
   -- Each terminal has one district (clause 2.8.1.1).
   local own_district = floor(job.number / warehouses) % tpcc.DISTRICTS + 1
   local deck = {}

   local function customer()
      if tpcc.by_last_name() then return tpcc.name_of_run(customers) end
      return tpcc.customer_id(customers)
   end

   local draws = {}

   function draws.new_order()
      local district, buyer, lines = random(tpcc.DISTRICTS), tpcc.customer_id(customers), {}
      for number = 1, random(5, 15) do
         lines[number] = {item = tpcc.item_id(items), supplier = tpcc.supply_warehouse(home, warehouses), quantity = random(10)}
      end
      if tpcc.is_rolled_back() then lines[#lines].item = items + 1 end
      return home, district, buyer, lines
   end

   function draws.payment()
      local district = random(tpcc.DISTRICTS)
      local payer_warehouse, payer_district = tpcc.home_of_payer(home, district, warehouses)
      return home, district, {warehouse = payer_warehouse, district = payer_district}, customer(), random(100, 500000)
   end

   function draws.order_status() return {warehouse = home, district = random(tpcc.DISTRICTS)}, customer() end
   function draws.delivery() return home, random(10) end
   function draws.stock_level() return home, own_district, random(10, 20) end

   return {
      draw = function()
         if #deck == 0 then deck = tpcc.deck() end
         local kind = table.remove(deck)
         local arguments = {draws[kind]()}
         return kind, function() transactions[kind](job.connection, unpack(arguments)) end
      end,
   }
end

engine.commands({create = data.create}, {fill = data.fill_share})
engine.load {kinds = {"new_order", "payment", "order_status", "delivery", "stock_level"}, thread = terminal}

return transactions
