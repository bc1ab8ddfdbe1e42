<?php
// PDO with mysqlnd.
require '/drivers/common/talk.php';

$opening = opening();
// PDO's own option bounds the connect alone.
ini_set('mysqlnd.net_read_timeout', (string) $opening['timeout_s']);

$connect = fn (array $at) => new PDO(
    "mysql:host={$at['host']};port={$at['port']};dbname={$at['schema']}",
    $at['user'],
    $at['password'],
    [PDO::ATTR_TIMEOUT => $at['timeout_s'], PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION],
);

$run = function (PDO $connection, string $sql, bool $reads, bool $inTransaction): array {
    if ($reads) {
        return $connection->query($sql)->fetch(PDO::FETCH_NUM);
    }
    if ($inTransaction) {
        $connection->beginTransaction();
    }
    $connection->exec($sql);
    if ($inTransaction) {
        $connection->commit();
    }
    return [];
};

$code = fn (Throwable $error) => $error->errorInfo[1] ?? (is_int($error->getCode()) ? $error->getCode() : 0);
$version = 'PHP ' . PHP_VERSION . ', PDO with ' . mysqli_get_client_info();
talk($opening, $version, $connect, $run, $code);
