package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.testkit.Nulls.none;
import static org.pgonce.testkit.Nulls.that;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.util.List;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.Channel;
import org.pgonce.records.Records;
import org.pgonce.records.TableName;
import org.pgonce.testkit.Nulls;

/** What must not be null is refused where it is given, by name, and before any SQL. */
class NullTest {

  static Stream<Arguments> entries() {
    var connection = unasked();
    var name = new TableName(null, "t");
    var builder = TriggerChannel.on("t", Object.class);
    var migration = new Migration("", "");
    return Stream.of(
        that("up", () -> new Migration(none(), "")),
        that("down", () -> new Migration("", none())),
        that("a channel", () -> Migration.of(Nulls.<Channel<?>>none())),
        that("next", () -> migration.then(none())),
        that("version", () -> migration.flyway(none(), "x")),
        that("description", () -> migration.flyway("1", none())),
        that("author", () -> migration.liquibase(none(), "x")),
        that("id", () -> migration.liquibase("x", none())),
        that("connection", () -> Triggers.migration(none())),
        that("a channel", () -> Triggers.migration(connection, Nulls.<Channel<?>>none())),
        that("connection", () -> Triggers.orphans(none())),
        that("a channel", () -> Triggers.orphans(connection, Nulls.<Channel<?>>none())),
        that("dataSource", () -> Triggers.dropOrphans(none(), List.of())),
        that("orphans", () -> Triggers.dropOrphans(unaskedSource(), none())),
        that("connection", () -> Records.print(none(), "t")),
        that("connection", () -> Records.print(none(), name)),
        that("table", () -> Records.print(connection, Nulls.<String>none())),
        that("table", () -> Records.print(connection, Nulls.<TableName>none())),
        that("connection", () -> Records.fit(none(), "t", Object.class)),
        that("connection", () -> Records.fit(none(), name, Object.class)),
        that("table", () -> Records.fit(connection, Nulls.<String>none(), Object.class)),
        that("table", () -> Records.fit(connection, Nulls.<TableName>none(), Object.class)),
        that("rowType", () -> Records.fit(connection, "t", none())),
        that("rowType", () -> Records.fit(connection, name, none())),
        that("table", () -> TriggerChannel.on(Nulls.<String>none(), Object.class)),
        that("table", () -> TriggerChannel.changesOf(Nulls.<String>none(), Object.class)),
        that("table", () -> TriggerChannel.changesOf(Nulls.<TableName>none(), Object.class)),
        that("table", () -> TriggerChannel.computed(Nulls.<String>none(), Object.class, "1")),
        that("rowType", () -> TriggerChannel.on("t", none())),
        that("rowType", () -> TriggerChannel.changesOf("t", none())),
        that("type", () -> TriggerChannel.computed("t", none(), "1")),
        that("payload", () -> TriggerChannel.computed("t", Object.class, none())),
        that("condition", () -> builder.when(none())),
        that("due time", () -> builder.dueAt(none())),
        that("delivery key", () -> builder.deliveryKeySql(none())),
        that("order key", () -> builder.orderKeySql(none())),
        that("delay", () -> builder.dueAfter(none())),
        that("form", () -> builder.form(none())),
        that("unstorable", () -> builder.unstorable(none())),
        that("columns", () -> builder.columns(Nulls.<String[]>none())),
        that("columns", () -> builder.onlyIfChanged(Nulls.<String[]>none())),
        that("a column", () -> builder.columns("a", none())));
  }

  private static DataSource unaskedSource() {
    return (DataSource)
        Proxy.newProxyInstance(
            NullTest.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (proxy, method, arguments) -> {
              throw new AssertionError(method + " was called");
            });
  }

  /** Whatever is asked of it fails: arguments are checked before. */
  private static Connection unasked() {
    return (Connection)
        Proxy.newProxyInstance(
            NullTest.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, arguments) -> {
              throw new AssertionError(method + " was called");
            });
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("entries")
  void api_nullIsRefusedByName(String what, Nulls.Call call) {
    assertThatThrownBy(call::run).isInstanceOf(NullPointerException.class).hasMessage(what);
  }
}
