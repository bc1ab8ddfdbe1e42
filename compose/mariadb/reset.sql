-- Whatever the first start wrote to the binary log is on every node already: history starts empty everywhere.
EXECUTE IMMEDIATE IF(@@log_bin, 'RESET MASTER', 'DO 0');
