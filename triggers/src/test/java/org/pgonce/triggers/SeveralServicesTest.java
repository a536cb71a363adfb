package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What docs/channels.md says of services that share a channel, each with its own definition. */
@PgTest(PgOnceInstalled.class)
class SeveralServicesTest {

  record Author(long id, String name) {}

  private static final ChannelOptions OPTIONS = ChannelOptions.DEFAULT;

  @BeforeEach
  void table(TestDatabase database) throws Exception {
    database.execute("create table author (id bigint primary key, name text)");
  }

  private static TriggerChannel<Author> with(ChannelOptions options, String... subscriptions) {
    return TriggerChannel.on("author", Author.class)
        .afterInsert()
        .options(options.withSubscriptions(subscriptions))
        .build();
  }

  private static void install(TestDatabase database, TriggerChannel<?> channel) {
    PgOnce.using(database.dataSource()).install(channel);
  }

  private static List<String> differences(TestDatabase database, TriggerChannel<?> channel)
      throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, channel);
    }
  }

  /** Of each subscription, by its name, when one row was written. */
  private static String stored(TestDatabase database) throws Exception {
    database.execute("insert into author values (1, 'Ada')");
    return String.valueOf(
        database.queryString(
            "select string_agg(subscription || ' ' || backlog, ', ' order by subscription) from pgonce.channel_status"));
  }

  @Test
  void example_theirSubscriptionsAddUp(TestDatabase database) throws Exception {
    install(database, with(OPTIONS, "mail"));
    install(database, with(OPTIONS, "audit"));

    assertThat(stored(database)).isEqualTo("audit 1, mail 1");
    assertThat(differences(database, with(OPTIONS, "mail"))).isEmpty();
    assertThat(differences(database, with(OPTIONS, "audit"))).isEmpty();
  }

  @Test
  void theOptionsOfTheLastReplaceTheOthers(TestDatabase database) throws Exception {
    install(database, with(OPTIONS.withMaxDepth(7), "mail"));
    install(database, with(OPTIONS, "audit"));

    assertThat(differences(database, with(OPTIONS.withMaxDepth(7), "mail")))
        .singleElement()
        .asString()
        .contains("is installed with maximum depth \"100\", but defined with \"7\"");
  }

  @Test
  void aSubscriptionThatIsLeftOutStays(TestDatabase database) throws Exception {
    install(database, with(OPTIONS, "audit", "mail"));
    install(database, with(OPTIONS, "mail"));

    assertThat(stored(database)).isEqualTo("audit 1, mail 1");
    assertThat(differences(database, with(OPTIONS, "mail"))).isEmpty();
  }
}
