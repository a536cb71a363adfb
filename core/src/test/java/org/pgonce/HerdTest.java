package org.pgonce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.Stage.SOON;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Many listeners on one channel: one of them answers a wake-up, and the others where it cannot. */
@PgTest
class HerdTest {

  private static final Channel<Order> HERD = Stage.wokenAlways("herd", Mode.EXACTLY_ONCE);

  private Stage stage;
  private final List<PgOnce> listeners = new ArrayList<>();
  private final Semaphore handled = new Semaphore(0);

  @BeforeEach
  void prepare(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(HERD);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** The scan finds nothing of what the tests store: it is too slow for that. */
  private void listener(String name, int workers, Handler<Order> handler) {
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource).instance(name));
    pgonce.listen(HERD, Stage.QUICK.withConcurrency(workers), handler).start();
    listeners.add(pgonce);
  }

  private void store(Connection connection, long id) throws SQLException {
    Publisher.standard().publish(connection, HERD, new Order(id, "item"));
  }

  private void awaitHandled(int count) throws InterruptedException {
    assertThat(handled.tryAcquire(count, SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
  }

  private long claims() {
    return listeners.stream().mapToLong(pgonce -> pgonce.status().channels().get(0).claims()).sum();
  }

  @Test
  void oneOfManyAnswersAWakeUp() throws Exception {
    for (var i = 0; i < 8; i++) {
      listener("listener " + i, 2, (order, tx) -> handled.release());
    }
    try (var writer = stage.dataSource.getConnection()) {
      for (var id = 1; id <= 100; id++) {
        store(writer, id);
        awaitHandled(1);
      }
      var before = claims();
      for (var id = 1; id <= 400; id++) {
        store(writer, id);
        awaitHandled(1);
      }
      listeners.forEach(l -> System.out.println("L " + l.status().channels().get(0)));
      System.out.println("CLAIMS " + (claims() - before) / 400.0);
      assertThat(claims() - before).isLessThan(4 * 400);
    }
  }
}
