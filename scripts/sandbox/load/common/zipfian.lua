-- Zipf's distribution for sysbench 1.0, which has none: row i is drawn in proportion to 1 / i^EXPONENT, row 1 most often.
-- Drawn by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
-- distributions", ACM Transactions on Modeling and Computer Simulation 6(3), 1996. EXPONENT is the default of sysbench 1.1.
local EXPONENT = 0.8
local COMPLEMENT = 1 - EXPONENT

local function weight(x) return x ^ -EXPONENT end
local function area(x) return (x ^ COMPLEMENT - 1) / COMPLEMENT end
local function position(covered) return (1 + covered * COMPLEMENT) ^ (1 / COMPLEMENT) end

local LOWEST = area(1.5) - weight(1)
-- Rows this close to their position are accepted at once.
local NEAR = 2 - position(area(2.5) - weight(2))

local function draw(rows)
   local highest = area(rows + 0.5)
   while true do
      local covered = highest + sysbench.rand.uniform_double() * (LOWEST - highest)
      local at = position(covered)
      local row = math.min(math.max(math.floor(at + 0.5), 1), rows)
      if row - at <= NEAR or covered >= area(row + 0.5) - weight(row) then return row end
   end
end

function sysbench.rand.default(first, last) return first - 1 + draw(last - first + 1) end
