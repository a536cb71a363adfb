package org.pgonce.spring.slice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.spring.slice.Channels.Renamed;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.pgonce.test.PgOnceTester;
import org.springframework.beans.factory.annotation.Autowired;

/** Both are in the slice, and work in the notification's transaction. */
@PgOnceListenerTest(Renamings.class)
@Tag("second")
class JooqAndMyBatisSliceTest {

  @Autowired PgOnceTester pgonce;
  @Autowired Channel<Renamed> renamed;

  @BeforeEach
  void empty() {
    pgonce.execute("truncate author cascade");
  }

  @Test
  void workInTheNotificationsTransaction() {
    pgonce.execute("insert into author (name) values ('Ada')");
    pgonce.publish(renamed, new Renamed("Ada", "Countess"));
    pgonce.drain(renamed);
    assertThat(pgonce.count("select count(*) from author where name = 'Countess'")).isEqualTo(1);
    assertThat(pgonce.count("select count(*) from author")).isEqualTo(1);
  }

  @Test
  void areUndoneWithIt() {
    pgonce.publish(renamed, new Renamed("Ada", "Countess"));
    assertThatThrownBy(() -> pgonce.drain(renamed)).hasMessageContaining("there is no Ada");
    assertThat(pgonce.count("select count(*) from author")).isZero();
  }
}
