<?php
// mysqli with mysqlnd.
require '/drivers/common/talk.php';

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

$connect = function (array $at): mysqli {
    $connection = mysqli_init();
    $connection->options(MYSQLI_OPT_CONNECT_TIMEOUT, $at['timeout_s']);
    $connection->options(MYSQLI_OPT_READ_TIMEOUT, $at['timeout_s']);
    // A failed connect also warns on the output.
    @$connection->real_connect($at['host'], $at['user'], $at['password'], $at['schema'], $at['port']);
    return $connection;
};

$run = function (mysqli $connection, string $sql, bool $reads, bool $inTransaction): array {
    if ($inTransaction) {
        $connection->begin_transaction();
    }
    $found = $connection->query($sql);
    if ($inTransaction) {
        $connection->commit();
    }
    return $reads ? $found->fetch_row() : [];
};

$version = 'PHP ' . PHP_VERSION . ', mysqli with ' . mysqli_get_client_info();
talk(opening(), $version, $connect, $run, fn (Throwable $error) => $error->getCode());
