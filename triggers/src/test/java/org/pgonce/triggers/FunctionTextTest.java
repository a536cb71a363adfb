package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * The functions that docs/triggers.md shows are those that an installation makes. With {@code
 * -Dpgonce.texts.write=true} it writes them there.
 */
@PgTest(PgOnceInstalled.class)
class FunctionTextTest {

  private static final Path PAGE = Path.of("..", "docs", "triggers.md");

  record Mail(long id, String recipient) {}

  private record Shown(String name, int mostLines, TriggerChannelBuilder<?> channel) {

    /** What is between the marker and the end of the block behind it. */
    Pattern block() {
      return Pattern.compile("(?s)(<!-- " + name + " -->\n\n```sql\n)(.*?)(```\n)");
    }

    @Override
    public String toString() {
      return name;
    }
  }

  static List<Shown> shown() {
    return List.of(
        new Shown("plain", 15, TriggerChannel.on("mail", Mail.class).afterInsert()),
        new Shown(
            "changes",
            25,
            TriggerChannel.changesOf("mail", Mail.class).afterInsert().afterUpdate().afterDelete()),
        new Shown(
            "ordered",
            20,
            TriggerChannel.on("mail", Mail.class)
                .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES))
                .afterInsert()
                .orderKey("recipient")),
        new Shown(
            "keyed",
            40,
            TriggerChannel.on("mail", Mail.class)
                .afterInsert()
                .deliveryKey("id")
                .dueAt("new.send_at")),
        new Shown(
            "sorted",
            20,
            TriggerChannel.on("mail", Mail.class).afterInsert().deliveryKey("recipient")),
        new Shown(
            "dead letters",
            25,
            TriggerChannel.on("mail", Mail.class)
                .afterInsert()
                .unstorable(Unstorable.DEAD_LETTER)));
  }

  @ParameterizedTest
  @MethodSource("shown")
  void api_theFunctionsOfThePageAreThoseThatAreInstalled(Shown shown, TestDatabase database)
      throws Exception {
    database.execute(
        "create table mail (id bigint primary key, recipient text, send_at timestamptz)");
    PgOnce.using(database.dataSource()).install(shown.channel().named("mail").build());
    var installed = functions(database);
    assertThat(installed.lines().filter(line -> !line.isBlank()))
        .hasSizeLessThanOrEqualTo(shown.mostLines());
    var page = Files.readString(PAGE);
    var block = shown.block().matcher(page);
    assertThat(block.find()).isTrue();
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.writeString(
          PAGE, page.substring(0, block.start(2)) + installed + page.substring(block.end(2)));
    } else {
      assertThat(block.group(2)).isEqualTo(installed);
    }
  }

  /** As psql shows them by \sf, with all settings in one line. */
  private static String functions(TestDatabase database) throws SQLException {
    return database.queryString(
        """
        select string_agg(format(E'CREATE FUNCTION %s RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER\\n%s\\nAS $$%s$$;\\n',
                                 p.oid::regprocedure,
                                 (select string_agg('SET ' || replace(s.setting, '=', ' = '), ' ') from unnest(p.proconfig) as s (setting)),
                                 p.prosrc), E'\\n' order by p.proname)
          from pg_proc p where p.pronamespace = 'pgonce_triggers'::regnamespace and p.prosecdef
        """);
  }
}
