package org.pgonce.internal.context;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.concurrent.Throttle;
import org.pgonce.spi.Event;

/** What is told of a database that does not answer. */
class RepeatedTroubleTest {

  private final SQLException noAnswer =
      new SQLException(
          "An I/O error occurred.", "08006", new SocketTimeoutException("Read timed out"));

  @Test
  void api_theObserverHearsOfEachWithItsCause() {
    var heard = new ArrayList<Event>();
    var trouble = new RepeatedTrouble("the poll failed", "orders", heard::add);
    trouble.tell(noAnswer);
    trouble.tell(noAnswer);
    assertThat(heard)
        .hasSize(2)
        .allSatisfy(
            event -> {
              var told = (Event.DatabaseTrouble) event;
              assertThat(told.channel()).isEqualTo("orders");
              assertThat(told.reason()).contains("08006").contains("Read timed out");
            });
  }

  @Test
  void api_whatRepeatsIsSaidOnceInItsTime() {
    var seldom = new Throttle(Duration.ofHours(1));
    assertThat(seldom.permits()).isTrue();
    assertThat(seldom.permits()).isFalse();
    var often = new Throttle(Duration.ZERO);
    assertThat(often.permits()).isTrue();
    assertThat(often.permits()).isTrue();
  }
}
