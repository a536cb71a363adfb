package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.claim.KeyLook;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * H53 in the moments that no listener can be made to meet: what a claim, or a renewal, does about
 * what others commit between the snapshot by which it looks and the lock on the key.
 */
@PgTest(PgOnceInstalled.class)
class OrderRaceTest {

  private static final PoolSettings POOL = new PoolSettings();
  private static final Duration LONG = Duration.ofMinutes(5);
  // At the rows in their order, from the first one on.
  private static final KeyLook LOOK =
      new KeyLook(0, List.of(KeyLook.Way.NEAR), List.of(), KeyLook.At.START, null);
  private static final ChannelOptions RULES =
      ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS);

  /** The lock on a key, which waits before, or fails, where a session has asked for that. */
  private static final String TEST_SWITCH =
      """
      alter function pgonce_private.try_key rename to really_try_key;
      create function pgonce_private.try_key(subscription integer, order_key text) returns boolean
      language plpgsql set search_path = pg_catalog, pg_temp as $$
      declare
        refusals constant integer := coalesce(nullif(current_setting('test.refusals', true), ''), '0');
      begin
        if current_setting('test.waits', true) = 'yes' then
          perform pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
        end if;
        if refusals > 0 then
          perform set_config('test.refusals', (refusals - 1)::text, false);
          return false;
        end if;
        return pgonce_private.really_try_key(subscription, order_key);
      end
      $$
      """;

  private Stage stage;
  private int subscription;
  private Connection first;
  private Connection second;
  private Connection gate;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource)
        .install(Channel.of("steps", Order.class, Mode.AT_LEAST_ONCE, RULES));
    subscription =
        (int)
            database.queryLong(
                "select s.id from pgonce.subscription s join pgonce.channel c on c.id = s.channel_id and c.name = 'steps'");
    database.execute(TEST_SWITCH);
    first = database.dataSource().getConnection();
    second = database.dataSource().getConnection();
    gate = database.dataSource().getConnection();
    first.setAutoCommit(false);
    second.setAutoCommit(false);
  }

  @AfterEach
  void close() throws SQLException {
    gate.close();
    second.close();
    first.close();
    stage.close();
  }

  private void store(boolean due, long id, String key) throws SQLException {
    stage.database.execute(
        due
            ? "insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, order_key, payload) values (%d, %d, clock_timestamp(), 0, clock_timestamp(), '%s', '{}')"
                .formatted(subscription, id, key)
            : "insert into pgonce.notification (subscription_id, id, order_key, payload) values (%d, %d, '%s', '{}')"
                .formatted(subscription, id, key));
  }

  private static ClaimSession session(Connection connection) throws SQLException {
    return new ClaimSession(
        new Borrowed(connection), POOL.take(connection, Duration.ofSeconds(30)), LONG);
  }

  private @Nullable Long claim(Connection connection, boolean due) throws SQLException {
    var claim =
        ClaimStatement.claimByKey(session(connection), subscription, due, RULES, LOOK).first();
    return claim == null ? null : claim.id();
  }

  /** By a transaction that is left open; null if there is none to lease. */
  private @Nullable Long lease(
      Connection connection, boolean due, Duration lease, @Nullable String token)
      throws SQLException {
    try (var statement =
        connection.prepareStatement(
            "select (l.claimed).id from pgonce.lease(?, ?, ?::uuid, ?, 3, 'DEAD_LETTER_BLOCKS', 'AT_LEAST_ONCE') l")) {
      statement.setInt(1, subscription);
      statement.setBoolean(2, due);
      statement.setString(3, token == null ? UUID.randomUUID().toString() : token);
      statement.setLong(4, lease.toMillis());
      try (var row = statement.executeQuery()) {
        return row.next() ? row.getObject(1, Long.class) : null;
      }
    }
  }

  private boolean renew(long id, String token) throws SQLException {
    return stage.database.queryLong(
            "select count(*) from pgonce.renew(%d, array[%d], array['%s'::uuid], 60000)"
                .formatted(subscription, id, token))
        == 1;
  }

  private interface Claiming {
    @Nullable Long on(Connection connection) throws SQLException;
  }

  /** Has the second look, and stand before the lock on the key of what it has chosen. */
  private CompletableFuture<@Nullable Long> standing(Claiming claiming) throws SQLException {
    gate.createStatement().execute("select pg_advisory_lock(1)");
    second.createStatement().execute("set test.waits = 'yes'");
    second.commit();
    var claimed =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return claiming.on(second);
              } catch (SQLException e) {
                throw new CompletionException(e);
              }
            });
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pg_stat_activity where wait_event = 'advisory' and datname = current_database()")
                == 1);
    return claimed;
  }

  private @Nullable Long goesOn(CompletableFuture<@Nullable Long> claimed) throws Exception {
    gate.createStatement().execute("select pg_advisory_unlock(1)");
    return claimed.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  /** A lower id is committed late, and leased, after the snapshot that shows the higher alone. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whatIsLeasedAfterTheLookKeepsItsKey(boolean due) throws Exception {
    store(due, 2_000, "a");
    var standing = standing(connection -> lease(connection, due, LONG, null));
    store(due, 1_000, "a");
    assertThat(lease(first, due, LONG, null)).isEqualTo(1_000);
    first.commit();
    assertThat(goesOn(standing)).isNull();
  }

  /** The same, and its handler has failed by then: it is not overtaken while it waits. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whatHasFailedAfterTheLookIsNotOvertaken(boolean due) throws Exception {
    store(due, 2_000, "a");
    var standing = standing(connection -> claim(connection, due));
    store(due, 1_000, "a");
    assertThat(claim(first, due)).isEqualTo(1_000);
    first
        .createStatement()
        .execute(
            "select pgonce.schedule(%d, 1000, 0, null, 1, null, 3600000, 'failed')"
                .formatted(subscription));
    first.commit();
    assertThat(goesOn(standing)).isNull();
  }

  /** What it has chosen is done by then: it takes another, and the key of the first is free. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whoFindsItsChoiceDoneKeepsNoLockOnItsKey(boolean due) throws Exception {
    store(due, 1_000, "a");
    store(due, 2_000, "b");
    store(due, 3_000, "a");
    var standing = standing(connection -> claim(connection, due));
    assertThat(claim(first, due)).isEqualTo(1_000);
    first
        .createStatement()
        .execute(
            "delete from pgonce.%s where subscription_id > 0 and id = 1000"
                .formatted(due ? "scheduled" : "notification"));
    first.commit();
    assertThat(goesOn(standing)).isEqualTo(2_000);
    assertThat(claim(first, due)).isEqualTo(3_000);
  }

  /** Its process was away for a while, and nobody has missed it. */
  @Test
  void h53_aLeaseThatIsOverGoesOnWhereNobodyHasTakenItsKey() throws Exception {
    var token = leasedAndOver();
    assertThat(renew(2_000, token)).isTrue();
  }

  @Test
  void h53_aLeaseThatIsOverDoesNotGoOnBesideAnotherOfItsKey() throws Exception {
    var token = leasedAndOver();
    store(false, 1_000, "a");
    assertThat(lease(first, false, LONG, null)).isEqualTo(1_000);
    // Neither before the other's commit, which no snapshot shows, nor after it.
    assertThat(renew(2_000, token)).isFalse();
    first.commit();
    assertThat(renew(2_000, token)).isFalse();
  }

  /** Its renewal began in time, and the end that others see is over before that is committed. */
  @Test
  void h53_aLeaseThatIsBeingRenewedKeepsItsKey() throws Exception {
    var token = leased(Duration.ofSeconds(2));
    try (var renewal =
        first
            .createStatement()
            .executeQuery(
                "select pgonce.renew(%d, array[2000], array['%s'::uuid], 60000)"
                    .formatted(subscription, token))) {
      assertThat(renewal.next()).isTrue();
    }
    awaitLeaseOver();
    store(false, 1_000, "a"); // committed late
    assertThat(lease(second, false, LONG, null)).isNull();
    second.rollback();
    first.commit();
    assertThat(lease(second, false, LONG, null)).isNull();
  }

  private String leasedAndOver() throws SQLException {
    var token = leased(Duration.ofMillis(1));
    awaitLeaseOver();
    return token;
  }

  private String leased(Duration lease) throws SQLException {
    var token = UUID.randomUUID().toString();
    store(false, 2_000, "a");
    // The server ends a session that waits between a short lease and its commit.
    first.setAutoCommit(true);
    assertThat(lease(first, false, lease, token)).isEqualTo(2_000);
    first.setAutoCommit(false);
    return token;
  }

  private void awaitLeaseOver() {
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pgonce.scheduled where token is not null and due_at < clock_timestamp()")
                == 1);
  }

  /**
   * A suspect of EXACTLY_ONCE, counted and claimed again by its token, when its backoff is over.
   */
  @Test
  void h53_aSuspectThatIsClaimedAgainKeepsItsKey() throws Exception {
    var token = leasedAndOver();
    assertThat(claimLeased(token, 0)).isNotEmpty();
    store(false, 1_000, "a");
    assertThat(claim(second, false)).isNull();
    first.rollback();
    second.rollback();
    assertThat(claim(second, false)).isEqualTo(1_000);
  }

  /** Somebody has the lock for as long as a look takes. */
  @Test
  void h53_aSuspectThatIsCountedIsClaimedThoughAnotherLooksAtItsKey() throws Exception {
    var token = leasedAndOver();
    assertThat(claimLeased(token, 3)).isNotEmpty();
  }

  private List<Claim> claimLeased(String token, int refusals) throws SQLException {
    var found = ClaimStatement.claimByKey(session(first), subscription, true, RULES, LOOK).first();
    assertThat(found).isNotNull();
    assertThat(found.token()).isEqualTo(token);
    first.createStatement().execute("set test.refusals = " + refusals);
    first.commit();
    return ClaimStatement.claimAgain(session(first), found, RULES);
  }
}
