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
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.claim.KeyLook;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * H53 without an order, in the moments that no listener can be made to meet: what a claim, or a
 * renewal, does about what others commit between its look and its lock, and what it keeps.
 */
@PgTest(PgOnceInstalled.class)
class KeyLimitRaceTest {

  private static final PoolSettings POOL = new PoolSettings();
  private static final Duration LONG = Duration.ofMinutes(5);
  // At the rows in their order, from the first one on.
  private static final KeyLook LOOK =
      new KeyLook(0, List.of(KeyLook.Way.NEAR), List.of(), KeyLook.At.START, null);

  /** The locks on a place and on a row, which wait before, or fail, where a session asks for it. */
  private static final String TEST_SWITCH =
      """
      alter function pgonce_private.try_key_permit rename to really_try_key_permit;
      alter function pgonce_private.try_row rename to really_try_row;
      create function pgonce_private.try_key_permit(subscription integer, order_key text, place integer) returns boolean
      language plpgsql set search_path = pg_catalog, pg_temp as $$
      declare
        refusals constant integer := coalesce(nullif(current_setting('test.refusals', true), ''), '0');
      begin
        if current_setting('test.waits', true) = 'place' then
          perform pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
        end if;
        if refusals > 0 then
          perform set_config('test.refusals', (refusals - 1)::text, false);
          return false;
        end if;
        return pgonce_private.really_try_key_permit(subscription, order_key, place);
      end
      $$;
      create function pgonce_private.try_row(subscription integer, id bigint) returns boolean
      language plpgsql set search_path = pg_catalog, pg_temp as $$
      begin
        if current_setting('test.waits', true) = 'row' then
          perform pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
        end if;
        return pgonce_private.really_try_row(subscription, id);
      end
      $$
      """;

  private Stage stage;
  private int subscription;
  private ChannelOptions rules;
  private Connection first;
  private Connection second;
  private Connection third;
  private Connection gate;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    limit(1);
    database.execute(TEST_SWITCH);
    first = connection();
    second = connection();
    third = connection();
    gate = database.dataSource().getConnection();
  }

  private Connection connection() throws SQLException {
    var connection = stage.database.dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  @AfterEach
  void close() throws SQLException {
    gate.close();
    third.close();
    second.close();
    first.close();
    stage.close();
  }

  private void limit(int maxPerKey) throws SQLException {
    rules = ChannelOptions.DEFAULT.withMaxPerKey(maxPerKey);
    PgOnce.using(stage.dataSource)
        .install(Channel.of("calls", Order.class, Mode.EXACTLY_ONCE, rules));
    subscription =
        (int)
            stage.database.queryLong(
                "select s.id from pgonce.subscription s where s.of_channel = 'calls'");
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

  private @Nullable Claim claimOf(Connection connection, boolean due) throws SQLException {
    return ClaimStatement.claimByKey(session(connection), subscription, due, rules, LOOK).first();
  }

  private @Nullable Long claim(Connection connection, boolean due) throws SQLException {
    var claim = claimOf(connection, due);
    return claim == null ? null : claim.id();
  }

  /** By a transaction that is left open; null if there is none to lease. */
  private @Nullable Long lease(
      Connection connection, boolean due, Duration lease, @Nullable String token)
      throws SQLException {
    try (var statement =
        connection.prepareStatement(
            "select (l.claimed).id from pgonce.lease(?, ?, ?::uuid, ?, 3, 'NONE', 'EXACTLY_ONCE', ?) l")) {
      statement.setInt(1, subscription);
      statement.setBoolean(2, due);
      statement.setString(3, token == null ? UUID.randomUUID().toString() : token);
      statement.setLong(4, lease.toMillis());
      statement.setInt(5, rules.maxPerKey());
      try (var row = statement.executeQuery()) {
        return row.next() ? row.getObject(1, Long.class) : null;
      }
    }
  }

  private boolean renew(long id, String token) throws SQLException {
    return stage.database.queryLong(renewal(id, token)) == 1;
  }

  /** By a transaction that is left open. */
  private boolean renew(Connection connection, long id, String token) throws SQLException {
    try (var row = connection.createStatement().executeQuery(renewal(id, token))) {
      return row.next() && row.getLong(1) == 1;
    }
  }

  private String renewal(long id, String token) {
    return "select count(*) from pgonce.renew(%d, array[%d], array['%s'::uuid], 60000)"
        .formatted(subscription, id, token);
  }

  private void delete(Connection connection, boolean due, long id) throws SQLException {
    connection
        .createStatement()
        .execute(
            "delete from pgonce.%s where subscription_id = %d and id = %d"
                .formatted(due ? "scheduled" : "notification", subscription, id));
  }

  private interface Claiming {
    @Nullable Long on(Connection connection) throws SQLException;
  }

  /** Has the second look, and stand before its lock on a place or on a row. */
  private CompletableFuture<@Nullable Long> standing(String before, Claiming claiming)
      throws SQLException {
    gate.createStatement().execute("select pg_advisory_lock(1)");
    second.createStatement().execute("set test.waits = '" + before + "'");
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

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whatIsLeasedAfterTheLookHasItsPlace(boolean due) throws Exception {
    store(due, 1_000, "a");
    store(due, 2_000, "a");
    var standing = standing("place", connection -> lease(connection, due, LONG, null));
    assertThat(lease(first, due, LONG, null)).isEqualTo(1_000);
    first.commit();
    assertThat(goesOn(standing)).isNull();
  }

  /** It is the other's that has ended since, and not of this one's choice. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whoFindsItsChoiceDoneTakesTheNextOfTheKey(boolean due) throws Exception {
    limit(2);
    for (var id = 1_000; id <= 3_000; id += 1_000) {
      store(due, id, "a");
    }
    var standing = standing("row", connection -> claim(connection, due));
    assertThat(claim(first, due)).isEqualTo(1_000);
    delete(first, due, 1_000);
    first.commit();
    assertThat(goesOn(standing)).isEqualTo(2_000);
    // It has one place and no more.
    assertThat(claim(first, due)).isEqualTo(3_000);
    assertThat(claim(third, due)).isNull();
  }

  /** The same where the key has no other: it goes on to another key. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whoFindsItsChoiceDoneAndNoOtherKeepsNoPlaceOfTheKey(boolean due) throws Exception {
    limit(2);
    store(due, 1_000, "a");
    store(due, 2_000, "b");
    var standing = standing("row", connection -> claim(connection, due));
    assertThat(claim(first, due)).isEqualTo(1_000);
    delete(first, due, 1_000);
    first.commit();
    assertThat(goesOn(standing)).isEqualTo(2_000);
    store(due, 3_000, "a");
    store(due, 4_000, "a");
    assertThat(claim(first, due)).isEqualTo(3_000);
    assertThat(claim(third, due)).isEqualTo(4_000);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whoFindsNothingInAKeyKeepsNoPlaceOfIt(boolean due) throws Exception {
    limit(2);
    store(due, 1_000, "a");
    store(due, 2_000, "b");
    assertThat(claim(first, due)).isEqualTo(1_000);
    assertThat(claim(second, due)).isEqualTo(2_000);
    store(due, 3_000, "a");
    assertThat(claim(third, due)).isEqualTo(3_000);
  }

  /** A lock that was tried and given back would make it one whose process died. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h47_aLookAtAFullKeyLeavesNoMarkOnItsRows(boolean due) throws Exception {
    store(due, 1_000, "a");
    store(due, 2_000, "a");
    assertThat(claim(first, due)).isEqualTo(1_000);
    assertThat(claim(second, due)).isNull();
    second.rollback();
    delete(first, due, 1_000);
    first.commit();
    var next = claimOf(second, due);
    assertThat(next).isNotNull();
    assertThat(next.id()).isEqualTo(2_000);
    assertThat(next.suspect()).isFalse();
    second.rollback();
    var again = claimOf(second, due);
    assertThat(again).isNotNull();
    assertThat(again.suspect()).isTrue();
    GuardedConnection.unready(second, again.sessionBefore());
    delete(second, due, 2_000);
    // One transaction has locked and deleted it, and no multixact stands for two.
    try (var row =
        second.createStatement().executeQuery("select pg_current_xact_id()::xid::text")) {
      row.next();
      assertThat(
              stage.database.queryString(
                  "select xmax::text from pgonce.%s where subscription_id = %d and id = 2000"
                      .formatted(due ? "scheduled" : "notification", subscription)))
          .isEqualTo(row.getString(1));
    }
  }

  /** A cancellation that is not committed. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_aRowThatSomebodyElseHoldsIsPassedOver(boolean due) throws Exception {
    store(due, 1_000, "a");
    store(due, 2_000, "a");
    delete(first, due, 1_000);
    assertThat(claim(second, due)).isEqualTo(2_000);
  }

  /** Its process was away for a while, and nobody has missed it. */
  @Test
  void h53_aLeaseThatIsOverGoesOnWhereNobodyHasTakenItsPlace() throws Exception {
    var token = leasedAndOver(2_000);
    limit(2);
    store(false, 1_000, "a");
    stage.database.execute("update pgonce.scheduled set key_permit = 2 where id = 2000");
    assertThat(lease(first, false, LONG, null)).isEqualTo(1_000);
    first.commit();
    assertThat(renew(2_000, token)).isTrue();
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.scheduled where key_permit_until between due_at - interval '1 s' and due_at + interval '1 s' and due_at > clock_timestamp() and subscription_id > 0"))
        .isEqualTo(2);
  }

  @Test
  void h53_aLeaseThatIsOverDoesNotGoOnBesideAnotherInItsPlace() throws Exception {
    var token = leasedAndOver(2_000);
    store(false, 1_000, "a");
    assertThat(lease(first, false, LONG, null)).isEqualTo(1_000);
    // Neither before the other's commit, which no snapshot shows, nor after it.
    assertThat(renew(2_000, token)).isFalse();
    first.commit();
    assertThat(renew(2_000, token)).isFalse();
  }

  /** Its renewal began in time, and the end that others see is over before that is committed. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_aLeaseThatIsBeingRenewedKeepsItsPlace(boolean due) throws Exception {
    var token = UUID.randomUUID().toString();
    store(due, 1_000, "a");
    store(due, 2_000, "a");
    assertThat(lease(first, due, Duration.ofSeconds(2), token)).isEqualTo(1_000);
    first.commit();
    assertThat(renew(first, 1_000, token)).isTrue();
    awaitLeasesOver();
    assertThat(lease(second, due, LONG, null)).isNull();
    second.rollback();
    first.commit();
    assertThat(lease(second, due, LONG, null)).isNull();
  }

  /** Somebody has the lock, as a key of the same hash would. */
  @Test
  void h53_aLeaseWhosePlaceIsLockedHoldsUntilItsEnd() throws Exception {
    var token = UUID.randomUUID().toString();
    store(false, 1_000, "a");
    assertThat(lease(first, false, LONG, token)).isEqualTo(1_000);
    first.commit();
    var leased = "select due_at::text from pgonce.scheduled where id = 1000";
    var end = stage.database.queryString(leased);
    first.createStatement().execute("set test.refusals = 1");
    assertThat(renew(first, 1_000, token)).isTrue();
    first.commit();
    assertThat(stage.database.queryString(leased)).isEqualTo(end);
    assertThat(renew(first, 1_000, token)).isTrue();
    first.commit();
    assertThat(stage.database.queryString(leased)).isNotEqualTo(end);
  }

  /** Both are over, and were leased to one process one after the other. */
  @Test
  void h53_ofTwoLeasesThatAreOverTheLaterGoesOn() throws Exception {
    var older = leasedAndOver(1_000);
    var newer = leasedAndOver(2_000);
    assertThat(
            stage.database.queryString(
                "select string_agg(r::text, ' ') from pgonce.renew(%d, array[1000, 2000], array['%s', '%s']::uuid[], 60000) r"
                    .formatted(subscription, older, newer)))
        .isEqualTo(newer);
  }

  private String leasedAndOver(long id) throws SQLException {
    var token = UUID.randomUUID().toString();
    store(false, id, "a");
    assertThat(lease(first, false, Duration.ofMillis(1), token)).isEqualTo(id);
    first.commit();
    awaitLeasesOver();
    return token;
  }

  private void awaitLeasesOver() {
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pgonce.scheduled where token is not null and due_at >= clock_timestamp()")
                == 0);
  }

  private static final String COUNT =
      "select pgonce.schedule(%d, 1000, 0, null, %d, '%s', 3600000, 'died')";

  /** Counted in one transaction, and claimed by its token in the next one. */
  @Test
  void h53_aSuspectThatIsCountedHasItsPlaceForASecond() throws Exception {
    store(false, 1_000, "a");
    store(false, 2_000, "a");
    var token = UUID.randomUUID().toString();
    var found = claimOf(first, false);
    assertThat(found).isNotNull();
    first.createStatement().execute(COUNT.formatted(subscription, 1, token));
    first.commit();
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.scheduled where key_permit = 1 and key_permit_until <= clock_timestamp() + interval '1 s'"))
        .isEqualTo(1);
    // As long as that lasts, but on this machine a second may be over.
    stage.database.execute(
        "update pgonce.scheduled set key_permit_until = clock_timestamp() + interval '1 h' where key_permit = 1");
    assertThat(claim(second, false)).isNull();
    assertThat(ClaimStatement.claimAgain(session(first), found.countedAhead(token), rules))
        .isNotEmpty();
    assertThat(claim(second, false)).isNull();
    first.rollback();
    // It has died again, and waits for its next attempt: that is no place for an hour.
    stage.database.execute(
        "update pgonce.scheduled set key_permit_until = clock_timestamp() where key_permit = 1");
    assertThat(claim(second, false)).isEqualTo(2_000);
    assertThat(ClaimStatement.claimAgain(session(first), found.countedAhead(token), rules))
        .isEmpty();
  }

  /** Postponed, as one in quarantine is: it waits, and runs nowhere. */
  @Test
  void h53_aSuspectThatWaitsForItsTurnHasNoPlace() throws Exception {
    store(false, 1_000, "a");
    store(false, 2_000, "a");
    assertThat(claim(first, false)).isEqualTo(1_000);
    first.createStatement().execute(COUNT.formatted(subscription, 0, UUID.randomUUID()));
    first.commit();
    assertThat(claim(second, false)).isEqualTo(2_000);
  }

  /** It has had a place that there is not any more, and the others have theirs. */
  @Test
  void h83_aSuspectThatIsCountedUnderALowerLimitTakesNoPlace() throws Exception {
    limit(2);
    for (var id = 1_000; id <= 3_000; id += 1_000) {
      store(false, id, "a");
    }
    assertThat(claim(second, false)).isEqualTo(1_000);
    delete(second, false, 1_000);
    assertThat(claim(first, false)).isEqualTo(2_000);
    limit(1);
    first
        .createStatement()
        .execute(COUNT.replace("1000", "2000").formatted(subscription, 1, UUID.randomUUID()));
    first.commit();
    second.commit();
    assertThat(claim(third, false)).isEqualTo(3_000);
  }

  /** Somebody has the lock for as long as a look takes. */
  @Test
  void h53_aSuspectThatIsCountedIsClaimedThoughAnotherLooksAtItsKey() throws Exception {
    store(false, 1_000, "a");
    var token = UUID.randomUUID().toString();
    var found = claimOf(first, false);
    assertThat(found).isNotNull();
    first.createStatement().execute(COUNT.formatted(subscription, 1, token));
    first.createStatement().execute("set test.refusals = 3");
    first.commit();
    assertThat(ClaimStatement.claimAgain(session(first), found.countedAhead(token), rules))
        .isNotEmpty();
  }
}
