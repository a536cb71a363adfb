package org.pgonce.example;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.spi.PayloadCodec;

/** The modules go together on a module path; all other tests run on the class path. */
class ModulePathTest {

  /** What has no module name before it is a jar, and what this module has for itself. */
  private static final Pattern LEFT_OUT =
      Pattern.compile(
          "pgjdbc-ng|netty|junit|assertj|awaitility|testcontainers|docker|embedded|surefire|/testkit/|/listener-example/");

  static final class Service {

    record Order(long orderId) {}

    public static void main(String[] arguments) throws Exception {
      var codec = PayloadCodec.standard();
      System.out.println(codec.getClass().getModule());
      System.out.println(codec.decode("{\"order_id\": 7}", Order.class));
      System.out.println(PgOnce.migration().contains("CREATE SCHEMA"));
    }
  }

  @Test
  void theyAreFoundAndReadTheirResources() throws Exception {
    var modules =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !LEFT_OUT.matcher(entry.replace('\\', '/')).find())
            .collect(Collectors.joining(File.pathSeparator));
    var run =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--module-path",
                modules,
                "--add-modules",
                "org.pgonce.all,org.pgonce.guards",
                "-cp",
                Path.of("target", "test-classes").toString(),
                Service.class.getName())
            .redirectErrorStream(true)
            .start();
    try {
      assertThat(run.waitFor(60, TimeUnit.SECONDS)).isTrue(); // a few lines: no pipe is filled
      assertThat(new String(run.getInputStream().readAllBytes(), UTF_8).lines())
          .contains("module org.pgonce.jackson", "Order[orderId=7]", "true");
    } finally {
      run.destroyForcibly();
    }
  }
}
