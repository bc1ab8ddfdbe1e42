# DBD::mysql.
use strict;
use warnings;
use DBD::mysql;
use Talk;

my $connect = sub {
    my ($at) = @_;
    my ($host, $port) = split /:/, $at->{hosts}[0];
    my $timeouts = join ';', map { "mysql_${_}_timeout=$at->{timeout_s}" } qw(connect read write);
    my $file = 'mysql_read_default_file=/drivers/common/client.cnf';
    my $connection = DBI->connect("DBI:mysql:database=$at->{schema};host=$host;port=$port;$timeouts;$file",
        $at->{user}, $at->{password}, { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
    $connection->{mysql_auto_reconnect} = $at->{mode} eq 'auto-reconnect' ? 1 : 0;
    return $connection;
};
Talk::talk(Talk::opening(), "DBD::mysql $DBD::mysql::VERSION, DBI $DBI::VERSION", $connect);
