package org.pgonce.internal.settle;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.Payload;
import org.pgonce.stage.Headers;

/** A channel without a history pays nothing for that of others. */
class HistoryStatementsTest {

  private static final String PLAIN =
      """
      WITH gone AS (
        DELETE FROM pgonce.notification AS h
         WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ?\s
        RETURNING true AS more
      )
      SELECT COALESCE((SELECT g.more FROM gone AS g), pgonce.not_there(1, 0)) AS more, false AS due
      """;
  private static final HistoryEntries ENTRIES =
      new HistoryEntries(Set.of(1L), Duration.ZERO, "me", false);

  private static Claim claim(boolean scheduled, @Nullable String token) {
    var payload = new Payload("1", null, 1, 1, scheduled);
    var now = Instant.EPOCH;
    return new Claim(1, 1, scheduled, 0, token, now, now, now, payload, Headers.PLAIN, false, null);
  }

  private static Deletion of(List<Claim> claims, @Nullable HistoryEntries entries) {
    return new Deletion(claims, false, true, entries);
  }

  @Test
  void history_aChannelWithoutOneRunsTheStatementThatItRanBefore() {
    assertThat(of(List.of(claim(false, null)), null).sql()).isEqualTo(PLAIN);
  }

  static Stream<List<Claim>> claims() {
    var one = claim(false, null);
    return Stream.of(
        List.of(one),
        List.of(claim(true, null)),
        List.of(claim(true, "token")),
        List.of(one, one),
        List.of(claim(true, null), claim(true, null)));
  }

  @ParameterizedTest
  @MethodSource("claims")
  void history_onlyAChannelThatAsksForOneInserts(List<Claim> claims) {
    var plain = of(claims, null);
    assertThat(plain.sql()).doesNotContain("handled", "INSERT");
    var kept = of(claims, ENTRIES);
    assertThat(kept.sql()).contains("INSERT INTO pgonce.handled").doesNotContain("payload");
    var payloads = of(claims, new HistoryEntries(Set.of(), Duration.ZERO, "me", true));
    assertThat(payloads.sql()).contains("g.payload");
  }
}
