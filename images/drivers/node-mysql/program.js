// mysqljs/mysql with its own pool: the protocol of docs/drivers.md.
const mysql = require('mysql');
const readline = require('readline');
const { version } = require('mysql/package.json');

const clean = (text) => String(text).replace(/[\t\r\n]+/g, ' ');
const say = (...fields) => process.stdout.write(`${fields.map(clean).join('\t')}\n`);

let options;
let pool;
let inTransaction;
let timeout;

function open([, user, password, database, timeoutMs, connections, transaction, mode, hosts]) {
  timeout = Number(timeoutMs);
  inTransaction = transaction === '1';
  const places = hosts.split(',').map((each) => each.split(':'));
  const at = ([host, port]) => ({ host, port: Number(port), user, password, database, connectTimeout: timeout,
    acquireTimeout: timeout, connectionLimit: Number(connections) });
  options = at(places[0]);
  if (mode === 'pool-cluster') {
    const cluster = mysql.createPoolCluster({ removeNodeErrorCount: 1, restoreNodeTimeout: 1000 });
    places.forEach((each, place) => cluster.add(`server${place}`, at(each)));
    pool = cluster.of('*', 'ORDER');
  } else {
    pool = mysql.createPool(options);
  }
  say('ready', `mysqljs/mysql ${version}, Node ${process.version}`);
}

function failed(number, phase, error) {
  say('error', number, phase, error.errno > 0 ? error.errno : error.code || error.name, error.message);
}

function run(connection, sql, transacted, done) {
  const send = (text, next) => connection.query({ sql: text, timeout }, next);
  if (!transacted) {
    send(sql, done);
    return;
  }
  send('BEGIN', (refused) => (refused ? done(refused) : send(sql, (error) => (error ? done(error) : send('COMMIT', done)))));
}

function answer(connection, number, verb, sql, end) {
  run(connection, sql, inTransaction && verb !== 'read', (error, rows, columns) => {
    end(error);
    if (error) {
      failed(number, 'sent', error);
    } else {
      say('ok', number, ...(verb === 'read' ? columns.map((each) => rows[0][each.name]) : []));
    }
  });
}

function obey(line) {
  const [verb, number, sql] = line.split('\t');
  if (verb === 'open') {
    open(line.split('\t'));
  } else if (verb === 'fresh') {
    const connection = mysql.createConnection(options);
    connection.connect((error) => {
      if (error) {
        failed(number, 'connect', error);
      } else {
        answer(connection, number, verb, sql, () => connection.destroy());
      }
    });
    connection.on('error', () => {});
  } else {
    pool.getConnection((error, connection) => {
      if (error) {
        failed(number, 'connect', error);
      } else {
        // The pool itself drops a connection after an error that is fatal to it.
        answer(connection, number, verb, sql, (trouble) => (trouble && inTransaction ? connection.destroy() : connection.release()));
      }
    });
  }
}

readline.createInterface({ input: process.stdin }).on('line', obey).on('close', () => process.exit(0));
