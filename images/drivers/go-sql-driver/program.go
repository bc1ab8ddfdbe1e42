// go-sql-driver behind database/sql: the protocol of docs/drivers.md.
package main

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The version of the Debian package that it was compiled with; the driver has no constant for it.
var version string

var (
	dsn         string
	transaction bool
	output      sync.Mutex
	clean       = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")
)

func say(fields ...string) {
	for i, field := range fields {
		fields[i] = clean.Replace(field)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(strings.Join(fields, "\t"))
}

func open(words []string) *sql.DB {
	timeoutMs, _ := strconv.Atoi(words[4])
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = words[1], words[2], words[3]
	config.Net, config.Addr = "tcp", strings.Split(words[8], ",")[0]
	config.Timeout = time.Duration(timeoutMs) * time.Millisecond
	config.ReadTimeout, config.WriteTimeout = config.Timeout, config.Timeout
	dsn = config.FormatDSN()
	transaction = words[6] == "1"
	pool := connect()
	connections, _ := strconv.Atoi(words[5])
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool
}

func connect() *sql.DB {
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		panic(err)
	}
	return pool
}

func run(pool *sql.DB, verb, statement string) ([]string, error) {
	if verb == "read" {
		var host, count string
		var ops sql.NullString
		err := pool.QueryRow(statement).Scan(&host, &count, &ops)
		return []string{host, count, ops.String}, err
	}
	if !transaction {
		_, err := pool.Exec(statement)
		return nil, err
	}
	begun, err := pool.Begin()
	if err != nil {
		return nil, err
	}
	if _, err = begun.Exec(statement); err != nil {
		_ = begun.Rollback()
		return nil, err
	}
	return nil, begun.Commit()
}

// describe gives what an error proves: one of dialling was not sent, since database/sql tries another connection only if nothing was.
func describe(err error) (phase, code string) {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return "sent", strconv.Itoa(int(refused.Number))
	}
	var network *net.OpError
	if errors.As(err, &network) {
		phase = "sent"
		if network.Op == "dial" {
			phase = "connect"
		}
		if network.Timeout() {
			return phase, network.Op + "-timeout"
		}
		return phase, network.Op + "-error"
	}
	if errors.Is(err, mysql.ErrInvalidConn) {
		return "sent", "invalid-connection"
	}
	return "sent", "error"
}

func answer(pool *sql.DB, verb, number, statement string) {
	if verb == "fresh" {
		pool = connect()
		defer pool.Close()
	}
	row, err := run(pool, verb, statement)
	if err != nil {
		phase, code := describe(err)
		say("error", number, phase, code, err.Error())
		return
	}
	say(append([]string{"ok", number}, row...)...)
}

func main() {
	// Its own log would go to the same stream.
	_ = mysql.SetLogger(quiet{})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 65536), 1<<20)
	lines.Scan()
	pool := open(strings.Split(lines.Text(), "\t"))
	say("ready", "go-sql-driver "+version+", "+runtime.Version())
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), "\t", 3)
		go answer(pool, words[0], words[1], words[2])
	}
}

type quiet struct{}

func (quiet) Print(...any) {}
