package org.pgonce.benchmarks.work;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.History;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.WakeUps;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.TriggerChannel;

/** pgonce: a trigger channel in EXACTLY_ONCE, with its defaults but for what the plan says. */
public final class ByPgOnce implements Way {

  record Work(long id, String name) {}

  private static final TriggerChannel<Work> STORED =
      TriggerChannel.on("work", Work.class).afterInsert().build();
  private static final TriggerChannel<Work> ALWAYS_WAKING =
      TriggerChannel.on("work", Work.class)
          .afterInsert()
          .options(ChannelOptions.DEFAULT.withWakeUps(WakeUps.ALWAYS))
          .build();

  private final String label;
  private final TriggerChannel<Work> channel;

  public ByPgOnce() {
    this("pgonce", STORED);
  }

  private ByPgOnce(String label, TriggerChannel<Work> channel) {
    this.label = label;
    this.channel = channel;
  }

  /** The same with a history. */
  public static ByPgOnce keeping(String label, History history) {
    var options = ChannelOptions.DEFAULT.withHistory(history);
    return new ByPgOnce(
        label, TriggerChannel.on("work", Work.class).afterInsert().options(options).build());
  }

  /** The same with a delivery key: the work's id. */
  public static ByPgOnce keyed() {
    return new ByPgOnce(
        "pgonce, delivery key",
        TriggerChannel.on("work", Work.class).afterInsert().deliveryKey("id").build());
  }

  @Override
  public String label() {
    return label;
  }

  @Override
  public void prepare(TestDatabase database) throws SQLException {
    Effects.prepare(database);
    install(database);
  }

  private void install(TestDatabase database) throws SQLException {
    try (var pgonce = PgOnce.using(database.dataSource())) {
      pgonce.install(channel);
    }
  }

  @Override
  public Way wokenByEachCommit() {
    return new ByPgOnce(label, ALWAYS_WAKING);
  }

  /** In another process: each effect's content is when its handler began, by {@link Wall}. */
  public static void listenAndTellWhen(PgOnce pgonce, Plan plan, long takesMs) {
    Handler<Work> each =
        (stored, tx) -> {
          tx.update(Effects.INSERT, stored.payload().id(), String.valueOf(Wall.micros()));
          Thread.sleep(takesMs);
        };
    Handler<Work> together =
        Handler.batch(
            (stored, tx) -> {
              tx.update(Effects.INSERT_MANY_AT, String.valueOf(Wall.micros()), AtWork.ids(stored));
              Thread.sleep(takesMs);
            });
    var unused = pgonce.listen(STORED, options(plan), plan.batch() == 1 ? each : together);
  }

  /** In another process: the handler says that it has begun, and does not end. */
  public static void listenAndHold(PgOnce pgonce, Runnable begun) {
    var unused =
        pgonce.listen(
            STORED,
            (stored, tx) -> {
              begun.run();
              new CountDownLatch(1).await();
            });
  }

  private static ListenOptions options(Plan plan) {
    return ListenOptions.DEFAULT.withConcurrency(plan.workers()).withBatch(plan.batch());
  }

  @Override
  public Contender open(TestDatabase database, Plan plan) throws SQLException {
    install(database); // as this one has it: the one before may have had another
    return new AtWork(channel, database, plan);
  }

  private static final class AtWork implements OnWorkTable {

    // Those that are given back when the listener stops are due again, and wait there.
    private static final String LEFT =
        """
        select (select count(*) from pgonce.notification where subscription_id > 0)
             + (select count(*) from pgonce.scheduled where subscription_id > 0)
        """;

    private final TriggerChannel<Work> channel;
    private final TestDatabase database;
    private final WorkTable table;
    private final HikariDataSource pool;
    private final PgOnce pgonce;
    private final ListenOptions options;

    AtWork(TriggerChannel<Work> channel, TestDatabase database, Plan plan) throws SQLException {
      this.channel = channel;
      this.database = database;
      table = new WorkTable(database);
      pool = Pools.of(database, plan.poolSize());
      pgonce = PgOnce.using(pool);
      options = options(plan);
    }

    @Override
    public WorkTable table() {
      return table;
    }

    @Override
    public void empty() throws SQLException {
      // As a superuser: nobody else may empty pgonce's tables.
      table.execute(
          "truncate work, effect, pgonce.notification, pgonce.scheduled, pgonce.dead_letter, pgonce.handled, pgonce.delivery_key; select pgonce_private.keep_padding()");
    }

    @Override
    public void settle() throws SQLException {
      table.settle("work, effect, pgonce.notification");
    }

    @Override
    public void start(LongConsumer handler) {
      pgonce.listen(channel, options, options.batch() == 1 ? each(handler) : together(handler));
      pgonce.start();
    }

    private static Handler<Work> each(LongConsumer handler) {
      return (stored, tx) -> {
        var work = stored.payload();
        handler.accept(work.id());
        tx.update(Effects.INSERT, work.id(), "Welcome, " + work.name() + "!");
      };
    }

    private static Handler<Work> together(LongConsumer handler) {
      return Handler.batch(
          (stored, tx) -> {
            stored.forEach(each -> handler.accept(each.payload().id()));
            tx.update(Effects.INSERT_MANY, ids(stored));
          });
    }

    private static String ids(List<Notification<Work>> stored) {
      return stored.stream()
          .map(each -> String.valueOf(each.payload().id()))
          .collect(Collectors.joining(",", "{", "}"));
    }

    @Override
    public long left() throws SQLException {
      return database.queryLong(LEFT);
    }

    @Override
    public void close() throws SQLException {
      pgonce.close();
      pool.close();
      table.close();
    }
  }
}
