<?php
// The protocol of docs/drivers.md for PHP; each program gives how to connect, to run and to read an error.

function opening(): array {
    [, $user, $password, $schema, $timeoutMs, , $transaction, $mode, $hosts] = explode("\t", rtrim(fgets(STDIN), "\n"));
    [$host, $port] = explode(':', explode(',', $hosts)[0]);
    return ['user' => $user, 'password' => $password, 'schema' => $schema, 'timeout_s' => max(1, intdiv((int) $timeoutMs, 1000)),
        'transaction' => $transaction === '1', 'mode' => $mode, 'host' => $host, 'port' => (int) $port];
}

function say(...$fields): void {
    fwrite(STDOUT, implode("\t", preg_replace('/[\t\r\n]+/', ' ', array_map('strval', $fields))) . "\n");
}

function talk(array $opening, string $version, callable $connect, callable $run, callable $code): void {
    $kept = null;
    say('ready', $version);
    while (($line = fgets(STDIN)) !== false) {
        [$verb, $number, $sql] = explode("\t", rtrim($line, "\n"));
        $phase = 'connect';
        try {
            // Without an error a connection is kept, as by a worker that serves many requests.
            $connection = $verb === 'fresh' ? $connect($opening) : ($kept ??= $connect($opening));
            $phase = 'sent';
            $row = $run($connection, $sql, $verb === 'read', $opening['transaction'] && $verb !== 'read');
            say('ok', $number, ...$row);
        } catch (Throwable $error) {
            say('error', $number, $phase, $code($error) ?: get_class($error), $error->getMessage());
            $kept = $verb === 'fresh' ? $kept : null;
        }
        $connection = null;
    }
}
