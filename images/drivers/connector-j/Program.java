// MariaDB Connector/J with HikariCP: the protocol of docs/drivers.md.
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;

public final class Program {
    private static String url;
    private static String user;
    private static String password;
    private static boolean transaction;
    private static boolean readsAtReplicas;
    private static HikariDataSource pool;

    private static synchronized void say(Object... fields) {
        System.out.println(Arrays.stream(fields).map(each -> String.valueOf(each).replaceAll("[\\t\\r\\n]+", " "))
            .collect(Collectors.joining("\t")));
        System.out.flush();
    }

    private static void open(String[] words) throws SQLException {
        user = words[1];
        password = words[2];
        transaction = words[6].equals("1");
        String mode = words[7];
        readsAtReplicas = mode.equals("replication");
        String failover = mode.equals("one") ? "" : mode.replace("-replay", "") + ":";
        url = "jdbc:mariadb:" + failover + "//" + words[8] + "/" + words[3] + "?connectTimeout=" + words[4]
            + "&socketTimeout=" + words[4] + "&allowPublicKeyRetrieval=true&sslMode=disable"
            + (mode.endsWith("-replay") ? "&transactionReplay=true" : "");
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setDriverClassName("org.mariadb.jdbc.Driver");
        config.setUsername(user);
        config.setPassword(password);
        config.setMaximumPoolSize(Integer.parseInt(words[5]));
        config.setConnectionTimeout(Long.parseLong(words[4]));
        config.setValidationTimeout(1000);
        config.setInitializationFailTimeout(-1);
        pool = new HikariDataSource(config);
    }

    private static Connection connection(String verb) throws SQLException {
        return verb.equals("fresh") ? DriverManager.getConnection(url, user, password) : pool.getConnection();
    }

    // What is set here the pool takes back when the connection returns to it.
    private static List<String> run(Connection connection, String verb, String sql) throws SQLException {
        boolean reads = verb.equals("read");
        if (reads && readsAtReplicas) {
            connection.setReadOnly(true);
        }
        try (Statement statement = connection.createStatement()) {
            if (reads) {
                try (ResultSet found = statement.executeQuery(sql)) {
                    found.next();
                    return Arrays.asList(found.getString(1), found.getString(2), found.getString(3));
                }
            }
            if (transaction) {
                connection.setAutoCommit(false);
            }
            statement.executeUpdate(sql);
            if (transaction) {
                connection.commit();
            }
            return List.of();
        }
    }

    private static void answer(String verb, String number, String sql) {
        String phase = "connect";
        try (Connection connection = connection(verb)) {
            phase = "sent";
            List<String> row = run(connection, verb, sql);
            Object[] fields = new Object[2 + row.size()];
            fields[0] = "ok";
            fields[1] = number;
            for (int i = 0; i < row.size(); i++) {
                fields[2 + i] = row.get(i);
            }
            say(fields);
        } catch (SQLException error) {
            Throwable first = phase.equals("connect") && error.getCause() instanceof SQLException ? error.getCause() : error;
            SQLException cause = (SQLException) first;
            Object code = cause.getErrorCode() > 0 ? cause.getErrorCode() : cause.getSQLState();
            say("error", number, phase, code == null ? cause.getClass().getSimpleName() : code, cause.getMessage());
        } catch (RuntimeException error) {
            say("error", number, phase, error.getClass().getSimpleName(), error.getMessage());
        }
    }

    private static String version() throws SQLException, IOException {
        java.sql.Driver driver = DriverManager.getDriver(url);
        String connector = org.mariadb.jdbc.util.VersionFactory.getInstance().getVersion();
        String hikari = "of an unknown version";
        // The manifest has no version; Debian's file has it in a second name.
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(Path.of("/usr/share/java"), "HikariCP-*.jar")) {
            for (Path jar : jars) {
                hikari = jar.getFileName().toString().replaceAll("HikariCP-|\\.jar", "");
            }
        }
        return "MariaDB Connector/J " + (connector == null ? driver.getMajorVersion() + "." + driver.getMinorVersion() : connector)
            + ", HikariCP " + hikari + ", Java " + System.getProperty("java.version");
    }

    public static void main(String[] arguments) throws IOException, SQLException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        open(lines.readLine().split("\t", -1));
        say("ready", version());
        ExecutorService threads = Executors.newCachedThreadPool();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", 3);
            threads.execute(() -> answer(words[0], words[1], words[2]));
        }
        System.exit(0);
    }
}
