package org.pgonce.sweeps;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.testkit.Nulls.none;
import static org.pgonce.testkit.Nulls.that;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.Channel;
import org.pgonce.Publisher;
import org.pgonce.testkit.Nulls;
import org.postgresql.ds.PGSimpleDataSource;

/** What must not be null is refused where it is given, by name, and not where it would hurt. */
class NullTest {

  static Stream<Arguments> entries() {
    var source = new PGSimpleDataSource();
    var publisher = Publisher.standard();
    var channel = Channel.of("texts", String.class);
    return Stream.of(
        that("dataSource", () -> Sweep.of(none(), publisher, channel, "", row -> none())),
        that("publisher", () -> Sweep.of(source, none(), channel, "", row -> none())),
        that("channel", () -> Sweep.of(source, publisher, none(), "", row -> none())),
        that("sql", () -> Sweep.of(source, publisher, channel, none(), row -> none())),
        that("mapper", () -> Sweep.of(source, publisher, channel, "", none())),
        that(
            "interval",
            () -> Sweep.of(source, publisher, channel, "", row -> none()).every(none())));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("entries")
  void api_nullIsRefusedByName(String what, Nulls.Call call) {
    assertThatThrownBy(call::run).isInstanceOf(NullPointerException.class).hasMessage(what);
  }
}
