package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Runs commands in this process, with a login's variables. */
public final class Cli {

  private static final JsonMapper JSON = new JsonMapper();

  /** What a command has printed, and its exit status. */
  public record Run(int status, String out, String err) {

    /** One document, and nothing beside it. */
    public JsonNode json() {
      assertThat(err).isEmpty();
      return JSON.readTree(out);
    }

    public Run ends(int expected) {
      assertThat(status).as(out + err).isEqualTo(expected);
      return this;
    }
  }

  public final Map<String, String> environment = new HashMap<>();
  public boolean interactive;
  public String stdin = "";
  public Supplier<char[]> askPassword;

  public Cli(Login login) {
    environment.putAll(variables(login));
  }

  public static Map<String, String> variables(Login login) {
    var variables = new HashMap<String, String>();
    variables.put("PGHOST", login.host());
    variables.put("PGPORT", String.valueOf(login.port()));
    variables.put("PGDATABASE", login.database());
    variables.put("PGUSER", login.user());
    variables.put("PGPASSWORD", login.password());
    variables.put("PGONCE_OPERATOR", "Ada");
    return variables;
  }

  public Run run(String... arguments) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    var status =
        PgOnceCommand.run(
            new Terminal(
                new ByteArrayInputStream(stdin.getBytes(StandardCharsets.UTF_8)),
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                interactive,
                environment,
                askPassword),
            () -> false,
            arguments);
    return new Run(
        status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  /** Makes dead letters out of nothing. */
  public static void bury(TestDatabase database, int count, String reason, String error)
      throws SQLException {
    database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)
        select s.id, nextval('pgonce.notification_id'), 10, now(), '%s', '%s', '"x"' from pgonce.subscription s, generate_series(1, %d)
        """
            .formatted(reason, error.replace("'", "''"), count));
  }

  public static void publish(TestDatabase database, String payload) throws SQLException {
    database.execute("select pgonce.publish('mails', '" + payload + "')");
  }
}
