package Talk;
# The protocol of docs/drivers.md for Perl's DBI; each program gives the name of its driver and its options.
use strict;
use warnings;
use DBI;

$| = 1;

sub say_line { print join("\t", map { my $text = $_ // '\N'; $text =~ s/[\t\r\n]+/ /g; $text } @_), "\n" }

sub opening {
    chomp(my $line = <STDIN>);
    my (undef, $user, $password, $schema, $timeout_ms, undef, $transaction, $mode, $hosts) = split /\t/, $line;
    my $timeout_s = int($timeout_ms / 1000) || 1;
    return { user => $user, password => $password, schema => $schema, timeout_s => $timeout_s,
        transaction => $transaction eq '1', mode => $mode, hosts => [split /,/, $hosts] };
}

sub run {
    my ($connection, $verb, $sql, $in_transaction) = @_;
    return $connection->selectrow_array($sql) if $verb eq 'read';
    $connection->begin_work if $in_transaction;
    $connection->do($sql);
    $connection->commit if $in_transaction;
    return ();
}

sub talk {
    my ($opening, $version, $connect) = @_;
    my $kept;
    say_line('ready', $version);
    while (my $line = <STDIN>) {
        chomp $line;
        my ($verb, $number, $sql) = split /\t/, $line;
        my ($phase, $connection, @row) = ('connect');
        my $done = eval {
            $connection = $verb eq 'fresh' ? $connect->($opening) : ($kept //= $connect->($opening));
            $phase = 'sent';
            @row = run($connection, $verb, $sql, $opening->{transaction} && $verb ne 'read');
            1;
        };
        if ($done) {
            say_line('ok', $number, @row);
        } else {
            my $code = ($connection ? $connection->err : $DBI::err) || 'DBI';
            say_line('error', $number, $phase, $code, ($connection ? $connection->errstr : $DBI::errstr) // $@);
            # Without an error a connection is kept.
            eval { $connection->disconnect } if $connection;
            undef $kept unless $verb eq 'fresh';
        }
        eval { $connection->disconnect } if $done && $verb eq 'fresh';
    }
}

1;
