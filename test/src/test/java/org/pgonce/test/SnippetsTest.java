package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.test.SignUpTest.GREETED;
import static org.pgonce.test.SignUpTest.SIGNED_UP;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.pgonce.Handler;
import org.pgonce.RejectedException;
import org.pgonce.test.SignUpTest.Greeted;
import org.pgonce.test.SignUpTest.SignedUp;
import org.postgresql.ds.PGSimpleDataSource;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.postgresql.PostgreSQLContainer;

/** docs/testing.md quotes what is between the marks. */
@PgOnceTest
class SnippetsTest {

  private final OutsideCalls mails = new OutsideCalls();
  private final Handler<Greeted> mail = (greeted, tx) -> mails.call(greeted.deliveryKey());

  @BeforeEach
  void install(PgOnceTester pgonce) {
    pgonce.install(SIGNED_UP, GREETED);
  }

  // quoted: outside
  @Test
  void mailsOnce(PgOnceTester pgonce) {
    for (var user = 1; user <= 5; user++) {
      pgonce.publish(GREETED, new Greeted(user));
    }
    pgonce.chaos(GREETED, mail).assertEffectsOnce(mails::effects); // all four faults
    assertThat(mails.calls()).isGreaterThan(mails.effects());
  }

  // end

  // quoted: rejects
  @Test
  void rejects(PgOnceTester pgonce) {
    pgonce.publish(SIGNED_UP, new SignedUp(-1));
    Handler<SignedUp> strict =
        (signedUp, tx) -> {
          throw new RejectedException("no such user");
        };
    assertThatThrownBy(() -> pgonce.drain(SIGNED_UP, strict)).hasMessage("no such user");
    assertThat(pgonce).hasDeadLetter(SIGNED_UP).because("no such user");
  }

  // end

  // quoted: unit
  @Test
  void publishesLater() throws Exception {
    Handler<SignedUp> remind = (signedUp, tx) -> tx.publish(GREETED, new Greeted(7));
    try (var tx = new RecordingTx()) { // no database
      remind.handle(RecordingTx.notification(SIGNED_UP, new SignedUp(7)), tx);
      assertThat(tx.published(GREETED)).containsExactly(new Greeted(7));
    }
  }

  // end

  static boolean isDockerThere() {
    return DockerClientFactory.instance().isDockerAvailable();
  }

  @Test
  @EnabledIf("isDockerThere")
  void overAContainer() {
    // quoted: container
    var postgres = new PostgreSQLContainer("postgres:18");
    postgres.start();
    var dataSource = new PGSimpleDataSource();
    dataSource.setURL(postgres.getJdbcUrl());
    dataSource.setUser(postgres.getUsername());
    dataSource.setPassword(postgres.getPassword());
    var pgonce = PgOnceTester.on(dataSource);
    // end
    try (postgres) {
      pgonce.install(SIGNED_UP, GREETED);
      assertThat(pgonce).isEmpty();
    }
  }
}
