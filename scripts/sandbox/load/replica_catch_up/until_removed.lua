-- The load ends, with its summary, once its script is gone: sysbench 1.0 has no signal for that. A thread ends where its event returns true.
local ffi = require("ffi")
ffi.cdef "int access(const char *path, int mode);"
local path, next_event = debug.getinfo(1, "S").source:sub(2), event

function event(...)
   if ffi.C.access(path, 0) ~= 0 then return true end
   return next_event(...)
end
