package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnce;
import org.pgonce.records.Fit;
import org.pgonce.records.Records;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.OnCall.DeadLetter;

/**
 * The record that is printed for a table, compiled.
 *
 * @param table as SQL writes it
 */
record PrintedRecord(TestDatabase database, String table, String source, Class<?> type) {

  private static final Pattern NAME = Pattern.compile("\npublic record (\\S+?)\\(");
  private static final Duration LONG = Duration.ofMinutes(3);

  static PrintedRecord of(TestDatabase database, String table) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      var source = Records.print(connection, table);
      var name = NAME.matcher(source);
      assertThat(name.find()).as(source).isTrue();
      return new PrintedRecord(database, table, source, CompiledSource.load(name.group(1), source));
    }
  }

  /** What the record and its table disagree in. */
  Fit fit() throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      return Records.fit(connection, table, type);
    }
  }

  /** The declared types of its components, by their names. */
  Map<String, String> components() {
    var components = new LinkedHashMap<String, String>();
    for (var component : type.getRecordComponents()) {
      components.put(
          component.getName(),
          component.getAnnotatedType().toString().replaceAll("[\\w.$]+[.$]", ""));
    }
    return components;
  }

  /** The constant behind the record. */
  TriggerChannel<?> channel() throws Exception {
    return (TriggerChannel<?>) type.getField("INSERTED").get(null);
  }

  @Nullable Object value(Object row, String component) throws Exception {
    return type.getMethod(component).invoke(row);
  }

  /** What the channel's handler gets, and what becomes of the other rows. */
  record Outcome(List<Object> handled, List<DeadLetter> dead) {}

  /** Installs the channel, runs the statements, and waits until all of the rows have arrived. */
  Outcome inserted(int rows, String... inserts) throws Exception {
    return inserted(channel(), rows, inserts);
  }

  private <T> Outcome inserted(TriggerChannel<T> channel, int rows, String... inserts)
      throws Exception {
    return arrived(database, channel, rows, inserts);
  }

  static <T> Outcome arrived(
      TestDatabase database, TriggerChannel<T> channel, int rows, String... inserts)
      throws Exception {
    var handled = new CopyOnWriteArrayList<Object>();
    try (var pgonce = PgOnce.using(database.pooled(6))) {
      pgonce.install(channel);
      for (var insert : inserts) {
        database.execute(insert);
      }
      pgonce.listen(channel, (added, tx) -> handled.add(added.payload())).start();
      var dead = new ArrayList<DeadLetter>();
      await()
          .atMost(LONG)
          .untilAsserted(
              () -> {
                dead.clear();
                dead.addAll(OnCall.deadLetters(database, channel));
                assertThat(handled.size() + dead.size())
                    .as("dead letters: %s", Arrays.toString(dead.toArray()))
                    .isEqualTo(rows);
              });
      return new Outcome(List.copyOf(handled), dead);
    }
  }
}
