package org.pgonce.spring.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.UnreachableException;
import org.pgonce.spring.PgOnceProperties;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** A service that comes up before its database: pgonce.start-timeout. */
@PgTest
@Tag("second")
@ExtendWith(OutputCaptureExtension.class)
class LateDatabaseTest {

  private static PgOnceInstallation installation(
      FaultProxy proxy, TestDatabase database, Map<String, String> properties) {
    return new PgOnceInstallation(
        PgOnce.using(database.login().through(proxy).unpooled()),
        new Channels(Map.of("job", Channel.of("job", String.class))),
        new Binder(new MapConfigurationPropertySource(properties))
            .bindOrCreate("pgonce", PgOnceProperties.class));
  }

  @Test
  void itIsWaitedFor(TestDatabase database, CapturedOutput output) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      proxy.refuseConnections();
      var installing = CompletableFuture.runAsync(installation(proxy, database, Map.of())::start);
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> output.getOut().contains("it is tried again for up to"));
      proxy.acceptConnections();
      installing.get(20, TimeUnit.SECONDS);
      assertThat(database.queryLong("select count(*) from pgonce.channel")).isEqualTo(1);
    }
  }

  @Test
  void notForLongerThanIsSet(TestDatabase database, CapturedOutput output) {
    try (var proxy = FaultProxy.to(database)) {
      proxy.refuseConnections();
      assertThatThrownBy(
              installation(
                      proxy,
                      database,
                      Map.of("pgonce.start-timeout", "0s", "pgonce.install", "validate"))
                  ::start)
          .isInstanceOf(UnreachableException.class);
      assertThat(output.getOut()).doesNotContain("it is tried again");
    }
  }
}
