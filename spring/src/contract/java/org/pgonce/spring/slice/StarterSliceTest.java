package org.pgonce.spring.slice;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.spring.audit.AuditAutoConfiguration;
import org.pgonce.spring.audit.AuditAutoConfiguration.Audited;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.pgonce.test.PgOnceTester;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/** A slice leaves out what another starter configures, unless the test imports it. */
@PgOnceListenerTest
@ImportAutoConfiguration(AuditAutoConfiguration.class)
@Tag("second")
class StarterSliceTest {

  @Autowired PgOnceTester pgonce;
  @Autowired Channel<Audited> audited;

  @Test
  void aListenerOfAnotherStarterListensBehindPgOnce() {
    pgonce.publish(audited, new Audited("a sale"));
    assertThat(pgonce.drain(audited)).isEqualTo(1);
    assertThat(pgonce.count("select count(*) from author where name = 'a sale'")).isEqualTo(1);
  }
}
