package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.testkit.Nulls.none;
import static org.pgonce.testkit.Nulls.that;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.testkit.Nulls;
import org.postgresql.ds.PGSimpleDataSource;

/** What must not be null is refused where it is given, by name, and not where it would hurt. */
class NullTest {

  static Stream<Arguments> entries() {
    var operations = Operations.over(new PGSimpleDataSource());
    var letters = operations.deadLetters();
    return Stream.of(
        that("dataSource", () -> Operations.over(none())),
        that("reason", () -> operations.adopt(none())),
        that("channel", () -> letters.of(none(), 1)),
        that("channel", () -> letters.redrive(none())),
        that("channel", () -> letters.discard(none())),
        that("channel", () -> letters.redrive(none(), "audit")),
        that("channel", () -> letters.discard(none(), "audit")),
        that("subscription", () -> letters.redrive(ORDERS, Nulls.<String>none())),
        that("subscription", () -> letters.discard(ORDERS, Nulls.<String>none())),
        that("subscription", () -> letters.redrive(ORDERS, none(), List.of())),
        that("subscription", () -> letters.discard(ORDERS, none(), List.of())),
        that("ids", () -> letters.redrive(ORDERS, Nulls.<List<Long>>none())),
        that("ids", () -> letters.discard(ORDERS, Nulls.<List<Long>>none())),
        that("ids", () -> letters.redrive(ORDERS, "audit", none())),
        that("ids", () -> letters.discard(ORDERS, "audit", none())),
        that("an id", () -> letters.redrive(ORDERS, Arrays.asList(1L, none()))),
        that("an id", () -> letters.discard(ORDERS, "audit", Arrays.asList(1L, none()))),
        that("reason", () -> letters.because(none())),
        that("person", () -> operations.by(none())),
        that("channel", () -> operations.pause(none(), "why")),
        that("subscription", () -> operations.pause(ORDERS, none(), "why")),
        that("reason", () -> operations.pause(ORDERS, none())),
        that("channel", () -> operations.resume(none(), "why")),
        that("subscription", () -> operations.resume(ORDERS, none(), "why")),
        that("reason", () -> operations.resume(ORDERS, none())),
        that("channel", () -> operations.cancel(none(), List.of(), "why")),
        that("ids", () -> operations.cancel(ORDERS, none(), "why")),
        that("an id", () -> operations.cancel(ORDERS, Arrays.asList(1L, none()), "why")),
        that("reason", () -> operations.cancel(ORDERS, List.of(), none())),
        that("channel", () -> operations.cancelByKey(none(), List.of(), "why")),
        that("deliveryKeys", () -> operations.cancelByKey(ORDERS, none(), "why")),
        that(
            "a delivery key",
            () -> operations.cancelByKey(ORDERS, Arrays.asList("a", none()), "why")),
        that("reason", () -> operations.cancelByKey(ORDERS, List.of(), none())),
        that("channel", () -> operations.peek(none(), 1)),
        that("channel", () -> operations.history(none(), HistoryQuery.latest(1))),
        that("query", () -> operations.history(ORDERS, none())),
        that("last", () -> HistoryQuery.latest(1).behind(none())),
        that("channel", () -> operations.explain(none())),
        that("channel", () -> operations.explain(none(), 1)),
        that("channel", () -> operations.retryNow(none(), List.of(), "why")),
        that("ids", () -> operations.retryNow(ORDERS, none(), "why")),
        that("reason", () -> operations.retryNow(ORDERS, List.of(), none())),
        that("channel", () -> operations.peekWithPayloads(none(), 1)),
        that("channel", () -> operations.drop(none(), "why")),
        that("reason", () -> operations.drop(ORDERS, none())),
        that("channel", () -> operations.drop(none(), "audit", "why")),
        that("subscription", () -> operations.drop(ORDERS, none(), "why")),
        that("reason", () -> operations.drop(ORDERS, "audit", none())));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("entries")
  void api_nullIsRefusedByName(String what, Nulls.Call call) {
    assertThatThrownBy(call::run).isInstanceOf(NullPointerException.class).hasMessage(what);
  }
}
