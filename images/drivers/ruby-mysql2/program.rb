# mysql2: the protocol of docs/drivers.md.
require 'mysql2'

$stdout.sync = true

def say(*fields)
  puts fields.map { |each| each.to_s.gsub(/[\t\r\n]+/, ' ') }.join("\t")
end

_, user, password, schema, timeout_ms, _, transaction, mode, hosts = gets.chomp.split("\t")
host, port = hosts.split(',').first.split(':')
timeout_s = [timeout_ms.to_i / 1000, 1].max
OPTIONS = {
  host: host, port: port.to_i, username: user, password: password, database: schema,
  connect_timeout: timeout_s, read_timeout: timeout_s, write_timeout: timeout_s,
  reconnect: mode == 'reconnect', default_file: '/drivers/common/client.cnf', default_group: 'client'
}.freeze

def run(connection, verb, sql, in_transaction)
  connection.query('BEGIN') if in_transaction
  found = connection.query(sql, as: :array)
  connection.query('COMMIT') if in_transaction
  verb == 'read' ? found.first : []
end

say 'ready', "mysql2 #{Mysql2::VERSION}, Ruby #{RUBY_VERSION}, Connector/C #{Mysql2::Client.info[:version]}"
kept = nil
while (line = gets)
  verb, number, sql = line.chomp.split("\t")
  phase = 'connect'
  connection = nil
  begin
    connection = verb == 'fresh' ? Mysql2::Client.new(OPTIONS) : (kept ||= Mysql2::Client.new(OPTIONS))
    phase = 'sent'
    say 'ok', number, *run(connection, verb, sql, transaction == '1' && verb != 'read')
    connection.close if verb == 'fresh'
  rescue StandardError => e
    code = e.respond_to?(:error_number) && e.error_number.to_i.positive? ? e.error_number : e.class.name
    say 'error', number, phase, code, e.message
    # Without an error a connection is kept.
    connection&.close
    kept = nil unless verb == 'fresh'
  end
end
