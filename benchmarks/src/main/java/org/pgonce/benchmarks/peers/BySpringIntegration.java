package org.pgonce.benchmarks.peers;

import java.sql.SQLException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.LongConsumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.work.Contender;
import org.pgonce.benchmarks.work.Effects;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.SqlFile;
import org.pgonce.benchmarks.work.Way;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.jdbc.PgConnection;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.integration.jdbc.channel.PostgresChannelMessageTableSubscriber;
import org.springframework.integration.jdbc.channel.PostgresSubscribableChannel;
import org.springframework.integration.jdbc.store.JdbcChannelMessageStore;
import org.springframework.integration.jdbc.store.channel.PostgresChannelMessageStoreQueryProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.messaging.support.GenericMessage;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Spring Integration: a JdbcChannelMessageStore and a PostgresSubscribableChannel with a
 * transaction manager, so that claim, handler and deletion are one transaction. Its schema, and the
 * trigger that this brings for it.
 */
public final class BySpringIntegration implements Way {

  private static final String SCHEMA =
      SqlFile.beside(
          JdbcChannelMessageStore.class,
          "/org/springframework/integration/jdbc/schema-postgresql.sql");
  private static final Pattern TRIGGER =
      Pattern.compile("/\\*(CREATE FUNCTION.*)\\*/", Pattern.DOTALL);
  private static final String GROUP = "work";

  @Override
  public String label() {
    return "Spring Integration";
  }

  @Override
  public void prepare(TestDatabase database) throws SQLException {
    Effects.prepare(database);
    database.execute(SCHEMA);
    var trigger = TRIGGER.matcher(SCHEMA);
    if (!trigger.find()) {
      throw new IllegalStateException("Spring Integration's schema brings no trigger any more");
    }
    database.execute(trigger.group(1));
  }

  @Override
  public Contender open(TestDatabase database, Plan plan) {
    return new AtWork(database, plan);
  }

  private static final class AtWork extends Peer {

    private static final int AT_ONCE = 1_000;

    private final JdbcChannelMessageStore store;
    private final JdbcTransactionManager transactions;
    private final TransactionTemplate inTransaction;
    private final ExecutorService workers;
    private @Nullable PostgresChannelMessageTableSubscriber subscriber;

    AtWork(TestDatabase database, Plan plan) {
      super(database, plan, "int_channel_message");
      workers = Executors.newFixedThreadPool(plan.workers());
      transactions = new JdbcTransactionManager(pool);
      inTransaction = new TransactionTemplate(transactions);
      store = new JdbcChannelMessageStore(pool);
      store.setChannelMessageStoreQueryProvider(new PostgresChannelMessageStoreQueryProvider());
      store.afterPropertiesSet();
    }

    @Override
    public void store(long id) {
      inTransaction.executeWithoutResult(
          status -> {
            var unused = store.addMessageToGroup(GROUP, new GenericMessage<>(id));
          });
    }

    @Override
    public void fill(long firstId, int count) throws SQLException {
      for (var done = 0; done < count; done += AT_ONCE) {
        var first = firstId + done;
        var last = firstId + Math.min(count, done + AT_ONCE);
        inTransaction.executeWithoutResult(
            status -> {
              for (var id = first; id < last; id++) {
                var unused = store.addMessageToGroup(GROUP, new GenericMessage<>(id));
              }
            });
      }
    }

    @Override
    public void start(LongConsumer handler) {
      var effects = new JdbcTemplate(pool);
      subscriber =
          new PostgresChannelMessageTableSubscriber(
              () -> database.dataSource().getConnection().unwrap(PgConnection.class));
      var channel = new PostgresSubscribableChannel(store, GROUP, subscriber);
      channel.setTransactionManager(transactions);
      channel.setDispatcherExecutor(workers);
      channel.setBeanFactory(new DefaultListableBeanFactory());
      channel.afterPropertiesSet();
      subscriber.start();
      var unused =
          channel.subscribe(
              message -> {
                var id = (Long) message.getPayload();
                handler.accept(id);
                effects.update(Effects.INSERT, id, CONTENT);
              });
      // What was stored before is looked for once: by each worker, as after so many notifications.
      for (var worker = 0; worker < plan.workers(); worker++) {
        channel.notifyUpdate();
      }
    }

    @Override
    public void close() throws SQLException {
      if (subscriber != null) {
        subscriber.stop();
      }
      end(workers);
      super.close();
    }
  }
}
