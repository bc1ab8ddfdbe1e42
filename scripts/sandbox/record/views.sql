-- The views that a query sees; the line above each is what `make query` shows of it. tables.py fills in the columns
-- that come from the models of a record.

-- one row per run: cell, block, status, load, every metric, server, machine
CREATE VIEW runs AS
SELECT run.result, m.content.matrix.name AS matrix, r.cell, r.block, r.status, r.reason, r.profile,
    r.started_utc, r.workload.name AS workload, $load,
    r.workload.entry.via AS via, $metrics,
    r.metrics.errors_by_code, r.metrics.conflicts_by_code,
    -- metrics of a trial whose value is the least that it can have been: they were still open at its end
    r.trial.figures.censored,
    r.repro.name AS repro, r.repro.verdict AS verdict,
    server.server_version, server.package_version, server.image, server.image_id, server.image_source,
    $machine, $during,
    r.environment.inputs.assignments AS settings, r.environment.inputs.cpus AS node_cpus,
    r.environment.inputs.memory AS node_memory, r.environment.inputs.disk AS node_disk,
    planned.cell.levels, r.seed, r.stack, r.run_id
FROM ( -- the server is the writer where one is known, else the first
    SELECT result, r, coalesce(list_filter(servers, lambda node: node.role = 'writer')[1], servers[1]) AS server
    FROM (
        SELECT result, content AS r, list_filter(content.nodes, lambda node: node.server_version IS NOT NULL) AS servers
        FROM records_loaded
    )
) run
LEFT JOIN manifests_loaded m USING (result)
LEFT JOIN (SELECT result, unnest(content.matrix.cells) AS cell FROM manifests_loaded) planned
    ON planned.result = run.result AND planned.cell.name = r.cell
WHERE r.block > 0; -- block 0, if any, is a discarded warm-up

-- one row per result: a bench, a trial, a matrix with its question and plan, repros with what a search found
CREATE VIEW results AS
SELECT m.result, content.kind, content.matrix.name AS matrix, content.profile, content.started_utc,
    content.tool_commit, content.ended_utc, coalesce(counted.runs, 0) AS runs, coalesce(counted.ok, 0) AS ok,
    content.matrix.title, content.matrix.question, content.matrix.host_class, content.matrix.seed,
    content.matrix.blocks, content.matrix.depth, content.matrix.warmup_s, content.matrix.seconds,
    content.matrix.metrics, content.matrix.baseline, content.repro.search, content.repro.answer, content.command
FROM manifests_loaded m LEFT JOIN (
    SELECT result, count(*) AS runs, count(*) FILTER (content.status = 'ok') AS ok
    FROM records_loaded GROUP BY result
) counted USING (result);

-- the cells of each matrix with their levels
CREATE VIEW cells AS
SELECT result, cell.name AS cell, cell.arm AS variant, cell.profile, cell.levels, cell.skipped
FROM (SELECT result, unnest(content.matrix.cells) AS cell FROM manifests_loaded);

-- one row per repeat of a repro: version, verdict, what was seen
CREATE VIEW repros AS
SELECT result, content.repro.name AS repro, content.cell, content.block, content.profile, content.repro.version,
    content.repro.verdict, content.repro.expected, content.repro.seen, content.repro.seconds, content.status,
    content.reason, content.environment.inputs.assignments AS settings, content.repro.sha256, content.started_utc
FROM records_loaded WHERE content.repro IS NOT NULL;

-- the nodes of each run: role, image, digest, version
CREATE VIEW nodes AS
SELECT result, cell, block, node.*
FROM (SELECT result, content.cell, content.block, unnest(content.nodes) AS node FROM records_loaded);

-- the verdicts of the checks on each run
CREATE VIEW checks AS
SELECT result, cell, block, verdict.*
FROM (SELECT result, content.cell, content.block, unnest(content.checks) AS verdict FROM records_loaded);

-- effective variables of every server of every run
CREATE VIEW variables AS
SELECT result, cell, block, node, entry.key AS variable, entry.value AS value FROM (
    SELECT result, cell, block, server.key AS node, unnest(map_entries(server.value)) AS entry FROM (
        SELECT s.result, r.content.cell, r.content.block, unnest(map_entries(s.content.variables)) AS server
        FROM servers_loaded s JOIN records_loaded r USING (path)));

-- how every server's status counters changed during each run
CREATE VIEW status_delta AS
SELECT result, cell, block, node, entry.key AS counter, entry.value AS value FROM (
    SELECT result, cell, block, server.key AS node, unnest(map_entries(server.value)) AS entry FROM (
        SELECT s.result, r.content.cell, r.content.block, unnest(map_entries(s.content.status_delta)) AS server
        FROM servers_loaded s JOIN records_loaded r USING (path)));

-- the one-second series of every run
CREATE VIEW seconds AS
SELECT result, cell, block, point.*
FROM (SELECT s.result, r.content.cell, r.content.block, unnest(s.content) AS point
      FROM seconds_loaded s JOIN records_loaded r USING (path));
