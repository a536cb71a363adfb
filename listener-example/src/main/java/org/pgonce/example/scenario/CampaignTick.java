package org.pgonce.example.scenario;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.guards.Transition;
import picocli.CommandLine.Command;

/** S13: two ticks at once, one winner. */
@Command(
    name = "s13-transition",
    mixinStandardHelpOptions = true,
    description =
        "Two instances tick at the same moment and want to start the same campaign, 200 times: one of them does, each time.")
public final class CampaignTick extends Scenario {

  private static final int CAMPAIGNS = 200;

  record Started(long campaign) {}

  static final Channel<Started> STARTED = Channel.of("campaign.started", Started.class);

  private static final Transition CAMPAIGN = Transition.of("campaign", "id", "state");

  /** There is no look at the state before the change, that another could come between. */
  private static boolean start(PgOnce pgonce, Connection transaction, long campaign)
      throws SQLException {
    if (!CAMPAIGN.move(transaction, campaign, "approved", "sending")) {
      return false; // another instance does it
    }
    pgonce.publisher().publish(transaction, STARTED, new Started(campaign));
    return true;
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.execute(
        """
        create table campaign (id bigint primary key, state text not null);
        insert into campaign select n, 'approved' from generate_series(1, %d) n
        """
            .formatted(CAMPAIGNS));
    var dataSource = scene.dataSource();
    try (var pgonce = PgOnce.using(dataSource).install(STARTED)) {
      var atOnce = new CyclicBarrier(2);
      Callable<Integer> instance = () -> tickAll(dataSource, pgonce, atOnce);
      var instances = Executors.newFixedThreadPool(2);
      int first;
      int second;
      try {
        var both = instances.invokeAll(List.of(instance, instance));
        first = both.get(0).get();
        second = both.get(1).get();
      } finally {
        instances.shutdown();
      }
      scene.tell("won", "%d by the one, %d by the other".formatted(first, second));
      scene.check("winners", first + second, CAMPAIGNS, "of two ticks at each campaign");
    }
    scene.check(
        "sending",
        scene.number("select count(*) from campaign where state = 'sending'"),
        CAMPAIGNS,
        "campaigns");
    scene.check(
        "started",
        scene.number("select backlog from pgonce.channel_status"),
        CAMPAIGNS,
        "notifications, one for each");
    return "of two ticks at once one wins";
  }

  private static int tickAll(DataSource dataSource, PgOnce pgonce, CyclicBarrier atOnce)
      throws Exception {
    var won = 0;
    try (var connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      for (var campaign = 1L; campaign <= CAMPAIGNS; campaign++) {
        atOnce.await();
        won += start(pgonce, connection, campaign) ? 1 : 0;
        connection.commit();
      }
    }
    return won;
  }
}
