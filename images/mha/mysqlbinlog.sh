#!/bin/sh
# MHA expects a version of the program's own ("Ver 3.5"), where later ones print the server's.
# Several binary logs saved as one file are no growing sequence to gtid-strict-mode, the default of later programs: they stop at the
# second log, what it holds is lost, and MHA reports success.
case ${1-} in
  --version) echo 'mysqlbinlog Ver 3.5' ;;
  *) exec mariadb-binlog --skip-gtid-strict-mode "$@" ;;
esac
