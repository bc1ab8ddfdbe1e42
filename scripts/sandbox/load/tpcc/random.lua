-- Random values of TPC-C as its specification, revision 5.11, defines them.
local bit = require("bit")
local random = math.random

local tpcc = {
   DISTRICTS = 10, -- of each warehouse
   LAST_NAMES = 1000,
   -- Constants C of NURand(255, …). Their difference must lie in 65 to 119 and be neither 96 nor 112 (clause 2.1.6.1).
   C_LAST_OF_LOAD = 91,
   C_LAST_OF_RUN = 173,
   -- Constants C of NURand(1023, …) and NURand(8191, …), any number from 0 to A (clause 2.1.6).
   C_CUSTOMER = 259,
   C_ITEM = 7911,
}

-- Syllables of last names (clause 4.3.2.3).
local SYLLABLES = {[0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

-- Shuffles in place (Fisher and Yates).
function tpcc.shuffle(list)
   for place = #list, 2, -1 do
      local other = random(place)
      list[place], list[other] = list[other], list[place]
   end
   return list
end

-- A deck of cards, dealt to the end before it is shuffled again, gives the required mix exactly (clause 5.2.4.2).
function tpcc.deck()
   local deck = {"order_status", "delivery", "stock_level"}
   for _ = 1, 10 do
      deck[#deck + 1] = "new_order"
      deck[#deck + 1] = "payment"
   end
   return tpcc.shuffle(deck)
end

-- Non-uniform random number in x … y: ((random(0, A) | random(x, y)) + C) % (y - x + 1) + x (clause 2.1.6).
function tpcc.nurand(a, x, y, c) return (bit.bor(random(0, a), random(x, y)) + c) % (y - x + 1) + x end

-- Three syllables, one for each digit of 0 … 999 (clause 4.3.2.3).
function tpcc.last_name(number)
   local hundreds, tens = math.floor(number / 100), math.floor(number / 10) % 10
   return SYLLABLES[hundreds] .. SYLLABLES[tens] .. SYLLABLES[number % 10]
end

-- A customer of a district: NURand(1023, 1, 3000) where there are 3,000.
function tpcc.customer_id(customers) return tpcc.nurand(1023, 1, customers, tpcc.C_CUSTOMER) end

-- An item: NURand(8191, 1, 100000) where there are 100,000.
function tpcc.item_id(items) return tpcc.nurand(8191, 1, items, tpcc.C_ITEM) end

-- A last name that some customer has: NURand(255, 0, 999).
function tpcc.name_of_run(customers)
   return tpcc.last_name(tpcc.nurand(255, 0, math.min(customers, tpcc.LAST_NAMES) - 1, tpcc.C_LAST_OF_RUN))
end

-- The last name of a customer when the data is made: each name once, then NURand(255, 0, 999) (clause 4.3.3.1).
function tpcc.name_of_load(customer)
   if customer <= tpcc.LAST_NAMES then return tpcc.last_name(customer - 1) end
   return tpcc.last_name(tpcc.nurand(255, 0, tpcc.LAST_NAMES - 1, tpcc.C_LAST_OF_LOAD))
end

-- Any but the home warehouse, all equally likely.
function tpcc.other_warehouse(home, warehouses)
   local drawn = random(warehouses - 1)
   return drawn < home and drawn or drawn + 1
end

-- Warehouse of an order line: 1% come from another warehouse, if there is another (clause 2.4.1.5).
function tpcc.supply_warehouse(home, warehouses)
   if warehouses > 1 and random(100) == 1 then return tpcc.other_warehouse(home, warehouses) end
   return home
end

-- Warehouse and district of the payer: 15% are customers of another warehouse, if there is another (clause 2.5.1.2).
function tpcc.home_of_payer(warehouse, district, warehouses)
   if warehouses > 1 and random(100) > 85 then return tpcc.other_warehouse(warehouse, warehouses), random(tpcc.DISTRICTS) end
   return warehouse, district
end

-- 60% of payments and order-status requests give the last name (clauses 2.5.1.2, 2.6.1.2).
function tpcc.by_last_name() return random(100) <= 60 end

-- 1% of new orders end with an item that does not exist (clause 2.4.1.4).
function tpcc.is_rolled_back() return random(100) == 1 end

-- Of the customers of one name, the one at position ⌈n/2⌉, counted from 1 (clause 2.5.2.2).
function tpcc.middle(rows) return rows[math.floor((#rows + 1) / 2)] end

-- Strings are cut from one long random text, always the same: drawing each letter would take longer than the server does.
local text
local function long_text()
   local letters, state = {}, 4711
   for place = 1, 50000 do
      state = (state * 16807) % 2147483647 -- Park and Miller's generator: math.random belongs to who calls
      local at = state % #LETTERS + 1
      letters[place] = LETTERS:sub(at, at)
   end
   return table.concat(letters)
end

-- A-string of some length (clause 4.3.2.2).
function tpcc.letters(shortest, longest)
   text = text or long_text()
   local length = longest and random(shortest, longest) or shortest
   local start = random(#text - length)
   return text:sub(start, start + length - 1)
end

-- N-string (clause 4.3.2.2).
function tpcc.digits(length)
   local half = math.floor(length / 2)
   return ("%0" .. half .. ".0f%0" .. length - half .. ".0f"):format(random(0, 10 ^ half - 1), random(0, 10 ^ (length - half) - 1))
end

-- Four random digits, then 11111 (clause 4.3.2.7).
function tpcc.zip_code() return tpcc.digits(4) .. "11111" end

-- 26 to 50 letters; 10% have the word ORIGINAL somewhere in them (clause 4.3.3.1).
function tpcc.data()
   local letters = tpcc.letters(26, 50)
   if random(10) > 1 then return letters end
   local place = random(0, #letters - 8)
   return letters:sub(1, place) .. "ORIGINAL" .. letters:sub(place + 9)
end

return tpcc
