-- A connection through the client library that sysbench is linked to (mysql.h): sysbench's own driver hides the error code of a refused
-- connection, and leaves the results of a procedure unread.
local ffi = require("ffi")

ffi.cdef [[
int mysql_server_init(int, char **, char **);
void *mysql_init(void *);
int mysql_options(void *, int option, const void *value);
void *mysql_real_connect(void *, const char *host, const char *user, const char *password, const char *schema, unsigned int port,
                         const char *socket, unsigned long flags);
int mysql_real_query(void *, const char *statement, unsigned long length);
void *mysql_store_result(void *);
int mysql_next_result(void *);
unsigned int mysql_num_fields(void *);
char **mysql_fetch_row(void *);
unsigned long *mysql_fetch_lengths(void *);
void mysql_free_result(void *);
unsigned int mysql_errno(void *);
const char *mysql_error(void *);
int mysql_get_socket(void *);
void mysql_close(void *);

typedef struct { long seconds, microseconds; } sandbox_timeout;
int setsockopt(int socket, int level, int option, const void *value, unsigned int length);
long send(int socket, const void *data, size_t length, int flags);
long recv(int socket, void *data, size_t length, int flags);
]]

local CONNECT_TIMEOUT_S = ffi.new("unsigned int[1]", 120)
local CLOSE_TIMEOUT = ffi.new("sandbox_timeout", {5, 0})
local OPT_CONNECT_TIMEOUT, OPT_CHARSET, CLIENT_MULTI_RESULTS = 0, 7, 0x20000
local SOL_SOCKET, SO_RCVTIMEO, MSG_NOSIGNAL = 1, 20, 0x4000
local COM_QUIT = "\1\0\0\0\1"
local rest = ffi.new("char[4096]")

-- Not safe in several threads at once: sysbench loads every script in its main thread first.
ffi.C.mysql_server_init(0, nil, nil)

local Connection = {}
Connection.__index = Connection

-- Errors are tables: the number that server or client library gives, and its text.
local function failed(handle) return {code = ffi.C.mysql_errno(handle), message = ffi.string(ffi.C.mysql_error(handle))} end

local function cells(row, lengths, fields)
   local found = {}
   for place = 0, fields - 1 do
      if row[place] ~= nil then found[place + 1] = ffi.string(row[place], lengths[place]) end
   end
   return found
end

local function add_rows(handle, rows)
   local result = ffi.C.mysql_store_result(handle)
   if result == nil then return end
   local fields, row = ffi.C.mysql_num_fields(result), ffi.C.mysql_fetch_row(result)
   while row ~= nil do
      rows[#rows + 1] = cells(row, ffi.C.mysql_fetch_lengths(result), fields)
      row = ffi.C.mysql_fetch_row(result)
   end
   ffi.C.mysql_free_result(result)
end

-- Rows of a statement, those of all its results, each with its cells as text; a NULL is nil.
function Connection:query(statement)
   local handle, rows = self.handle, {}
   local status = ffi.C.mysql_real_query(handle, statement, #statement)
   while status == 0 do
      add_rows(handle, rows)
      status = ffi.C.mysql_next_result(handle)
   end
   if status > 0 then error(failed(handle), 0) end
   return rows
end

-- Sends COM_QUIT and waits until the server has closed the connection. The side that closes first keeps the connection's port for a
-- minute (TIME_WAIT): the server's is the same for all, the client would run out of ports after some 28,000 connections.
function Connection:close()
   if not self.handle then return end
   local socket = ffi.C.mysql_get_socket(self.handle)
   if socket >= 0 then
      ffi.C.setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, CLOSE_TIMEOUT, ffi.sizeof(CLOSE_TIMEOUT))
      ffi.C.send(socket, COM_QUIT, #COM_QUIT, MSG_NOSIGNAL)
      while ffi.C.recv(socket, rest, 4096, 0) > 0 do end
   end
   ffi.C.mysql_close(self.handle)
   self.handle = nil
end

local mysql = {}

-- Connects to a host as sysbench's options say.
function mysql.connect(opt, host)
   local handle = ffi.C.mysql_init(nil)
   ffi.C.mysql_options(handle, OPT_CONNECT_TIMEOUT, CONNECT_TIMEOUT_S)
   ffi.C.mysql_options(handle, OPT_CHARSET, "utf8mb4")
   local port = tonumber(opt.mysql_port[1])
   local made = ffi.C.mysql_real_connect(
      handle, host, opt.mysql_user, opt.mysql_password, opt.mysql_db, port, nil, CLIENT_MULTI_RESULTS)
   if made == nil then
      local problem = failed(handle)
      ffi.C.mysql_close(handle)
      error(problem, 0)
   end
   return setmetatable({handle = handle}, Connection)
end

return mysql
