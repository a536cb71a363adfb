package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.records.TableName;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;

/** What is refused where a channel is defined, before there is any database. */
class DefinitionTest {

  record Author(long id, String name) {}

  @Test
  void example_whatAChannelIsCalledByDefault() {
    assertThat(TriggerChannel.on("author", Author.class).afterInsert().build())
        .hasToString("channel author_inserted (trigger after insert on author)");
    assertThat(TriggerChannel.on("app.author", Author.class).afterInsert().build())
        .hasToString("channel app.author_inserted (trigger after insert on app.author)");
    var named =
        TriggerChannel.on("App.\"Author\"", Author.class)
            .afterInsert()
            .named("welcome")
            .mode(Mode.BROADCAST)
            .build();
    assertThat(named).hasToString("channel welcome (trigger after insert on app.\"Author\")");
    assertThat(named.mode()).isEqualTo(Mode.BROADCAST);
    assertThat(named.table()).isEqualTo(new TableName("app", "Author"));
  }

  @ParameterizedTest
  @CsvSource({
    "author, , author",
    "Author, , author",
    "app.author, app, author",
    "\"Author\", , Author",
    "\"a.b\".\"c\"\"d; drop table x\", a.b, c\"d; drop table x",
    "größe, , größe",
    "_x$1, , _x$1",
  })
  void h30_namesAreReadAsSqlReadsThem(String text, String schema, String table) {
    assertThat(TableName.parse(text)).isEqualTo(new TableName(schema, table));
    assertThat(TableName.parse(TableName.parse(text).toString())).isEqualTo(TableName.parse(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", " ", "a b", "a;", "1a", "a.b.c", "a.", ".a", "\"a", "\"\"", "\"  \"", "a-b", "a'b"
      })
  void h30_whatIsNoNameIsRefused(String text) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TriggerChannel.on(text, Author.class))
        .withMessageContaining("is not one");
  }

  @Test
  void h30_whatPostgresqlWouldCutIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TriggerChannel.on("ä".repeat(32), Author.class))
        .withMessageContaining("(64 bytes)");
    assertThat(TriggerChannel.on("a".repeat(63), Author.class)).isNotNull();
  }

  @Test
  void h30_aChannelNameThatCannotBeIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TriggerChannel.on("\"Author\"", Author.class).afterInsert().build())
        .withMessageContaining("Author_inserted")
        .withMessageContaining("is not valid")
        .withMessageEndingWith("It was made of the table's name: give the channel one by named(…)");
  }

  @Test
  void aChannelWithoutAnEventIsRefused() {
    assertThatThrownBy(() -> TriggerChannel.on("author", Author.class).build())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("afterInsert()");
  }

  enum Mood {
    HAPPY
  }

  @Test
  void aTypeThatCannotHoldARowIsRefused() {
    for (var type :
        new Class<?>[] {
          String.class,
          long.class,
          Long.class,
          Mood.class,
          Author[].class,
          List.class,
          UUID.class,
          ArrayNode.class
        }) {
      assertThatIllegalArgumentException()
          .describedAs(type.getName())
          .isThrownBy(() -> TriggerChannel.on("author", type))
          .withMessageContaining("use a record");
    }
    for (var type : new Class<?>[] {Author.class, JsonNode.class, Map.class, Object.class}) {
      assertThat(TriggerChannel.on("author", type).afterInsert().build()).isNotNull();
    }
  }

  record Twice(String firstName, @JsonProperty("first_name") String name) {}

  @Test
  void twoComponentsOfOneColumnAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TriggerChannel.on("author", Twice.class))
        .withMessageContaining("firstName and name")
        .withMessageContaining("both read column first_name");
  }

  @Test
  void whatNamesTheTablesColumnsIsPrintedWithALookAtThemOnly() {
    for (var channel :
        List.of(
            added().when("new.id > 1").build(),
            added().withoutColumns("secret").build(),
            added().primaryKeyOnly().build(),
            added().deliveryKey("id").build(),
            added()
                .orderKey("id")
                .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS))
                .build(),
            added().unstorable(Unstorable.DEAD_LETTER).build(),
            added().columns("id").form(TriggerForm.ROW).build(),
            added().afterUpdateOf("id").onlyIfChanged("id").named("author").build())) {
      for (var print :
          List.<ThrowableAssert.ThrowingCallable>of(
              () -> PgOnce.migration(channel), () -> Migration.of(channel))) {
        assertThatThrownBy(print)
            .isInstanceOf(PgOnceException.class)
            .hasMessageContaining("without a look at table author")
            .hasMessageContaining("print it with Triggers.migration(connection, …)");
      }
    }
    for (var channel : List.of(added().build(), added().columns("id").build())) {
      assertThat(PgOnce.migration(channel)).contains("capture_author_inserted");
    }
  }

  private static TriggerChannelBuilder<JsonNode> added() {
    return TriggerChannel.on("author", JsonNode.class).afterInsert();
  }
}
