package org.pgonce.spring.slice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.spring.slice.Channels.Left;
import org.pgonce.spring.slice.Channels.SignedUp;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.pgonce.test.PgOnceTester;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Import;

@PgOnceListenerTest(Greetings.class)
@Import(Clock.class)
@Tag("second")
class NamedListenersTest {

  @Autowired PgOnceTester pgonce;
  @Autowired Channel<SignedUp> signedUp;
  @Autowired Channel<Left> left;
  @Autowired ApplicationContext context;

  @Test
  void hasTheListenersThatItNames() {
    pgonce.publish(signedUp, new SignedUp("Bob"));
    assertThat(pgonce.drain(signedUp)).isEqualTo(1);
    assertThat(context.getBeanNamesForType(Farewells.class)).isEmpty();
    assertThatThrownBy(() -> pgonce.drain(left))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("no handler of channel left")
        .hasMessageEndingWith("those of signed_up");
  }

  @Test
  void hasWhatItImports() {
    assertThat(context.getBeanNamesForType(Clock.class)).hasSize(1);
  }
}
