package org.pgonce.example.scenario;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import javax.sql.DataSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import picocli.CommandLine.Command;

/** S10: one item of a batch fails, the others are delivered. */
@Command(
    name = "s10-batch",
    mixinStandardHelpOptions = true,
    description =
        "Twenty invoices in one batch, of which one cannot be booked for a while: the others are booked, it alone is tried again with backoff.")
public final class BatchWithFailure extends Scenario {

  record Invoice(long number) {}

  static final Channel<Invoice> INVOICES = Channel.of("invoices", Invoice.class);

  /** One transaction for as many as wait. If one fails, they come again one by one. */
  private static final ListenOptions TWENTY_AT_ONCE =
      ListenOptions.DEFAULT
          .withConcurrency(1)
          .withBatch(20)
          .withBackoff(new Backoff(Duration.ofMillis(200), Duration.ofSeconds(1)));

  private static PgOnce bookkeeper(DataSource dataSource) {
    var pgonce = PgOnce.using(dataSource);
    pgonce.listen(INVOICES, TWENTY_AT_ONCE, Handler.batch(BatchWithFailure::book));
    return pgonce.start();
  }

  private static void book(List<Notification<Invoice>> invoices, Tx tx) throws SQLException {
    for (var invoice : invoices) {
      tx.update(
          "insert into booking (invoice, account, attempt, batch) values (?, (select id from account where invoice = ?), ?, ?)",
          invoice.payload().number(),
          invoice.payload().number(),
          invoice.attempt(),
          invoices.size());
    }
  }

  @Override
  protected String play(Scene scene) throws Exception {
    // Invoice 13 has no account yet, and a booking needs one.
    scene.execute(
        """
        create table account (id bigint generated always as identity, invoice bigint);
        create table booking (invoice bigint, account bigint not null, attempt int, batch int);
        insert into account (invoice) select n from generate_series(1, 20) n where n <> 13
        """);
    var dataSource = scene.dataSource();
    var log = new ByteArrayOutputStream();
    var console = System.err;
    long failing;
    try (var pgonce = PgOnce.using(dataSource).install(INVOICES)) {
      try (var connection = dataSource.getConnection()) {
        var ids =
            pgonce
                .publisher()
                .publishAll(
                    connection,
                    INVOICES,
                    LongStream.rangeClosed(1, 20).mapToObj(Invoice::new).toList());
        failing = ids.get(12);
      }
      System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8)); // where warnings go
      try (var worker = bookkeeper(dataSource)) {
        scene.tell("worker", "started, hears by " + worker.status().listensBy());
        scene.await("the others", () -> booked(scene) == 19);
        scene.await("two attempts of the failing one", () -> attempts(scene) >= 2);
        scene.check("delivered", booked(scene), 19, "the others, while one fails");
        scene.check(
            "backing off", retrying(scene), 1, "the failing one, with its attempts counted");
        scene.execute("insert into account (invoice) values (13)");
        scene.await("the failing one", () -> booked(scene) == 20);
      } finally {
        System.setErr(console);
      }
    }
    var lines =
        log.toString(StandardCharsets.UTF_8)
            .lines()
            .filter(line -> line.contains("notification " + failing + " of channel invoices"))
            .toList();
    lines.forEach(line -> scene.tell("log", line));
    scene.isTrue(
        "the log names channel, id and attempt of each failure",
        lines.stream().anyMatch(line -> line.contains("attempt 1 "))
            && lines.stream().anyMatch(line -> line.contains("attempt 2 ")));
    scene.check(
        "twice",
        scene.number("select count(*) - count(distinct invoice) from booking"),
        0,
        "bookings beyond the first of their invoice");
    scene.check(
        "retried",
        scene.number("select count(*) from booking where attempt > 1"),
        1,
        "booked at a later attempt than its first");
    return "the others of the batch are delivered, the failing one alone is tried again";
  }

  private static long booked(Scene scene) throws SQLException {
    return scene.number("select count(*) from booking");
  }

  private static long retrying(Scene scene) throws SQLException {
    return scene.number("select count(*) from pgonce.retry_status where channel = 'invoices'");
  }

  private static long attempts(Scene scene) throws SQLException {
    return scene.number("select coalesce(max(attempts), 0) from pgonce.retry_status");
  }
}
