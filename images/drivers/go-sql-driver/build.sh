#!/bin/sh
# From Debian's sources alone: no module is downloaded.
export GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=/tmp/go-build CGO_ENABLED=0
version=$(dpkg-query -W -f '${Version}' golang-github-go-sql-driver-mysql-dev)
exec go build -ldflags "-s -w -X main.version=$version" -o program program.go
