# DBD::MariaDB.
use strict;
use warnings;
use DBD::MariaDB;
use Talk;

my $connect = sub {
    my ($at) = @_;
    my ($host, $port) = split /:/, $at->{hosts}[0];
    my $timeouts = join ';', map { "mariadb_${_}_timeout=$at->{timeout_s}" } qw(connect read write);
    my $file = 'mariadb_read_default_file=/drivers/common/client.cnf';
    my $connection = DBI->connect("DBI:MariaDB:database=$at->{schema};host=$host;port=$port;$timeouts;$file",
        $at->{user}, $at->{password}, { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
    $connection->{mariadb_auto_reconnect} = $at->{mode} eq 'auto-reconnect' ? 1 : 0;
    return $connection;
};
Talk::talk(Talk::opening(), "DBD::MariaDB $DBD::MariaDB::VERSION, DBI $DBI::VERSION", $connect);
