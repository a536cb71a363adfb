package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A limit per key of a trigger channel: its key is made of columns. */
@PgTest(PgOnceInstalled.class)
class KeyLimitTest {

  private static final Duration SOON = Duration.ofSeconds(45);

  record Job(long id, @Nullable String tenant) {}

  private static TriggerChannel<Job> jobs(TriggerForm form) {
    return TriggerChannel.on("job", Job.class)
        .afterInsert()
        .form(form)
        .options(ChannelOptions.DEFAULT.withMaxPerKey(2))
        .orderKey("tenant")
        .build();
  }

  @ParameterizedTest
  @EachForm
  void h53_ofATenantNoMoreThanTheLimitAreAtWorkAndNoLess(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute("create table job (id bigint not null, tenant text)");
    var jobs = jobs(form);
    var running = new ConcurrentHashMap<String, Integer>();
    var most = new ConcurrentHashMap<String, Integer>();
    var ended = new ConcurrentLinkedQueue<Long>();
    var two = new CyclicBarrier(2);
    try (var pgonce =
        PgOnce.builder(database.pooled(8)).pollInterval(SOON.multipliedBy(4)).build()) {
      pgonce.install(jobs);
      // A listener registers a moment after its start, and the next poll is far off.
      database.execute(
          "select pgonce_private.fit_gates(array(select s.id from pgonce.subscription s))");
      pgonce
          .listen(
              jobs,
              ListenOptions.DEFAULT.withConcurrency(5),
              (job, tx) -> {
                var tenant = job.payload().tenant() == null ? "none" : job.payload().tenant();
                most.merge(tenant, running.merge(tenant, 1, Integer::sum), Math::max);
                if (tenant.equals("a")) {
                  two.await(SOON.toSeconds(), TimeUnit.SECONDS);
                }
                running.merge(tenant, -1, Integer::sum);
                ended.add(job.payload().id());
              })
          .start();
      database.execute(
          "insert into job select g, 'a' from generate_series(1, 20) g union all select 100 + g, null from generate_series(1, 5) g");
      await().atMost(SOON).until(() -> ended.size() == 25);
    }
    assertThat(ended).doesNotHaveDuplicates();
    assertThat(most).containsEntry("a", 2);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, jobs)).isEmpty();
    }
  }

  @ParameterizedTest
  @EachForm
  void h53_aRowOfNoTenantHasAKeyOfItsOwn(TriggerForm form, TestDatabase database) throws Exception {
    database.execute("create table job (id bigint not null, tenant text)");
    PgOnce.using(database.dataSource()).install(jobs(form));
    database.execute("insert into job values (1, 'a'), (2, null)");
    assertThat(
            database.queryString(
                "select string_agg(coalesce(nullif(order_key, chr(1) || id), '-'), ' ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("a -");
  }
}
