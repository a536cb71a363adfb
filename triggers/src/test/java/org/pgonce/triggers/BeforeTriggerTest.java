package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Why triggers of pgonce run AFTER, and that they do. */
@PgTest(PgOnceInstalled.class)
class BeforeTriggerTest {

  record Author(long id, String name) {}

  @Test
  void h05_beforeCannotBeAskedFor() {
    assertThat(Arrays.stream(TriggerChannelBuilder.class.getMethods()).map(Method::getName))
        .noneMatch(name -> name.contains("before") || name.contains("Before"));
    assertThat(channel().print()).contains(" AFTER INSERT ").doesNotContain("BEFORE");
  }

  @Tag("all")
  @Test
  void h05_whatABeforeTriggerOfTheUserMakesOfTheRowIsWhatIsStored(TestDatabase database)
      throws Exception {
    database.execute(
        """
        create table author (id bigint not null, name text not null);
        create function mend() returns trigger language plpgsql as $$
        begin
          if new.id < 0 then return null; end if;
          new.name := upper(new.name);
          return new;
        end $$;
        create trigger zzz before insert on author for each row execute function mend()
        """);
    PgOnce.using(database.dataSource()).install(channel());

    database.execute("insert into author values (-1, 'swallowed'), (1, 'ann')");

    assertThat(
            database.queryString(
                "select payload from pgonce.notification where subscription_id > 0"))
        .isEqualTo("{\"id\":1,\"name\":\"ANN\"}");
  }

  private static TriggerChannel<Author> channel() {
    return TriggerChannel.on("author", Author.class).afterInsert().build();
  }
}
