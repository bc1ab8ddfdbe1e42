-- The user's own statements: draws a unit (a statement, or everything from BEGIN to COMMIT) by weight, and fills in its placeholders.
local engine = require("engine")
local units = require("statements.units") -- made from the user's file: {name, weight, statements = {{kind, piece, …}, …}}

local LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"

local kinds, bounds, total = {}, {}, 0
for place, unit in ipairs(units) do
   total = total + unit.weight
   kinds[place], bounds[place] = unit.name, total
end

local function drawn()
   local at = math.random() * total
   for place, bound in ipairs(bounds) do
      if at < bound then return units[place] end
   end
   return units[#units]
end

local function random_text(length)
   local letters = {}
   for place = 1, length do
      local at = math.random(#LETTERS)
      letters[place] = LETTERS:sub(at, at)
   end
   return table.concat(letters)
end

engine.load {
   kinds = kinds,
   thread = function(job)
      local makers = {
         random = function(first, last) return ("%.0f"):format(first + math.floor(math.random() * (last - first + 1))) end,
         string = random_text,
         thread = function() return job.number + 1 end,
      }

      -- The kind of a statement, then text and placeholders: a placeholder is its name and its numbers.
      local function filled(statement)
         local parts = {}
         for place = 2, #statement do
            local piece = statement[place]
            parts[place - 1] = type(piece) == "string" and piece or makers[piece[1]](piece[2], piece[3])
         end
         return table.concat(parts)
      end

      return {
         draw = function()
            local unit = drawn()
            local texts = {}
            for place, statement in ipairs(unit.statements) do texts[place] = filled(statement) end
            return unit.name, function()
               for place, text in ipairs(texts) do job.connection[unit.statements[place][1]](job.connection, text) end
            end
         end,
      }
   end,
}
