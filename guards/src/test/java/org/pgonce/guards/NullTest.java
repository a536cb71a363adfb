package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.testkit.Nulls.none;
import static org.pgonce.testkit.Nulls.that;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.testkit.Nulls;
import org.postgresql.ds.PGSimpleDataSource;

/** What must not be null is refused where it is given, by name, and not where it would hurt. */
class NullTest {

  static Stream<Arguments> entries() {
    var source = new PGSimpleDataSource();
    var guards = Guards.using(source);
    var guard = Guard.of("g", String.class, String.class);
    var key = guard.key("k");
    return Stream.of(
        that("dataSource", () -> Guards.using(none())),
        that("codec", () -> Guards.builder(source).codec(none())),
        that("instance", () -> Guards.builder(source).instance(none())),
        that("table", () -> Transition.of(none(), "id", "state")),
        that("transaction", () -> Transition.of("a", "id", "s").move(none(), 1, 2, 3)),
        that("guard", () -> guards.once(Nulls.<Guard<String, String>>none(), "k", "r", () -> "")),
        that("key", () -> guards.once(guard, none(), "r", () -> "")),
        that("request", () -> guards.once(guard, "k", none(), () -> "")),
        that("call", () -> guards.once(guard, "k", "r", none())),
        that("transaction", () -> guards.inTransaction(none(), guard, "k", "r", () -> "")),
        that("key", () -> guards.probe(none(), String.class, () -> GuardAnswer.cannotTell())),
        that("type", () -> guards.probe(key, none(), () -> GuardAnswer.cannotTell())),
        that("probe", () -> guards.probe(key, String.class, none())),
        that("key", () -> guards.find(none())),
        that("scope", () -> guards.open(none(), 1)),
        that("key", () -> guards.release(none(), "who", "why")),
        that("who", () -> guards.release(key, none(), "why")),
        that("why", () -> guards.release(key, "who", none())),
        that("answer", () -> guards.settle(key, String.class, none(), "who", "why")),
        that("response", () -> GuardAnswer.happened(none())),
        that("reason", () -> GuardAnswer.didNotHappen(none())),
        that("reason", () -> GuardAnswer.mayBeRepeated(none())),
        that("scope", () -> Guard.of(none(), String.class, String.class)),
        that("requestType", () -> Guard.of("g", none(), String.class)),
        that("responseType", () -> Guard.of("g", String.class, Nulls.<Class<String>>none())),
        that("options", () -> guard.withOptions(none())),
        that("scope", () -> new GuardKey(none(), "k", "")),
        that("step", () -> new GuardKey("g", "k", none())),
        that("longestCall", () -> GuardOptions.DEFAULT.withLongestCall(none())),
        that("retention", () -> GuardOptions.DEFAULT.withRetention(none())),
        that("longestWait", () -> GuardOptions.DEFAULT.withLongestWait(none())),
        that("failures", () -> GuardOptions.DEFAULT.withFailures(none())),
        that("failure", () -> GuardOptions.cautious(none())),
        that("guard", () -> guards.run(Nulls.<Guard<String, String>>none(), "k", "r", steps -> "")),
        that("request", () -> guards.run(guard, "k", none(), steps -> "")),
        that("body", () -> guards.run(guard, "k", "r", none())));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("entries")
  void api_nullIsRefusedByName(String what, Nulls.Call call) {
    assertThatThrownBy(call::run).isInstanceOf(NullPointerException.class).hasMessage(what);
  }
}
