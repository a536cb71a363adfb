package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.testkit.Nulls.none;
import static org.pgonce.testkit.Nulls.that;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.PublishOptions;
import org.pgonce.testkit.Nulls;
import org.postgresql.ds.PGSimpleDataSource;

/** What must not be null is refused where it is given, by name, and not where it would hurt. */
class NullTest {

  static Stream<Arguments> entries() {
    var source = new PGSimpleDataSource();
    var tester = PgOnceTester.on(source);
    var texts = Channel.of("texts", String.class);
    Handler<String> handler = (text, tx) -> {};
    var tx = new RecordingTx();
    return Stream.of(
        that("dataSource", () -> PgOnceTester.on(none())),
        that("codec", () -> PgOnceTester.on(source, none())),
        that("time", () -> tester.bounds(1, none())),
        that("sql", () -> tester.execute(none())),
        that("sql", () -> tester.count(none())),
        that("channel", () -> tester.publish(none(), "a")),
        that("channel", () -> tester.publishAll(none(), none())),
        that("payloads", () -> tester.publishAll(texts, none())),
        that("channel", () -> tester.drain(none(), handler)),
        that("handler", () -> tester.drain(texts, none())),
        that("subscription", () -> tester.drain(texts, none(), ListenOptions.DEFAULT, handler)),
        that("options", () -> tester.drain(texts, "default", none(), handler)),
        that("channel", () -> tester.listen(none(), handler)),
        that("handler", () -> tester.listen(texts, none())),
        that("channel", () -> tester.drain(none())),
        that("channel", () -> tester.chaos(none())),
        that("time", () -> tester.advance(none())),
        that("channel", () -> tester.chaos(none(), handler)),
        that("handler", () -> tester.chaos(texts, none())),
        that("subscription", () -> tester.chaos(texts, none(), handler)),
        that("sql", () -> tester.chaos(texts, handler).assertEffectsOnce(Nulls.<String>none())),
        that("channel", () -> tester.assertThat().hasPublished(none())),
        that("channel", () -> tester.assertThat().hasNotPublished(none())),
        that("channel", () -> tester.assertThat().hasNotPublished(none(), "a")),
        that("payload", () -> tester.assertThat().hasNotPublished(texts, none())),
        that("channel", () -> tester.assertThat().hasDeadLetter(none())),
        that("dataSource", () -> new RecordingTx(none())),
        that("channel", () -> tx.publish(none(), "a", PublishOptions.DEFAULT)),
        that("payload", () -> tx.publish(texts, none(), PublishOptions.DEFAULT)),
        that("options", () -> tx.publish(texts, "a", none())),
        that("action", () -> tx.afterCommit(none())),
        that("action", () -> tx.afterCompletion(none())),
        that("outcome", () -> tx.complete(none())),
        that("key", () -> new OutsideCalls().call(none())));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("entries")
  void api_nullIsRefusedByName(String what, Nulls.Call call) {
    assertThatThrownBy(call::run).isInstanceOf(NullPointerException.class).hasMessage(what);
  }
}
