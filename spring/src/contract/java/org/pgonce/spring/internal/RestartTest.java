package org.pgonce.spring.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ReflectionUtils;

/** Devtools restart a service with new classes, in a JVM that has the starter's loaded. */
@Tag("second")
class RestartTest {

  @Test
  void noClassOfAListenerIsKept() throws Exception {
    var classes = new WeakReference<ClassLoader>(new Restarted());
    requireFit(classes);
    // As devtools do.
    ReflectionUtils.clearCache();
    AnnotationUtils.clearCache();
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(
            () -> {
              System.gc();
              assertThat(classes.get()).isNull();
            });
  }

  private static void requireFit(WeakReference<ClassLoader> classes) throws Exception {
    var type = classes.get().loadClass(Listener.class.getName());
    assertThat(type).isNotSameAs(Listener.class);
    var method = type.getDeclaredMethod("handle", String.class);
    ListenerFit.require(method, type, Channel.of("a", String.class), "here");
  }

  static class Listener {

    void handle(String payload) {}
  }

  /** Makes {@link Listener} anew. */
  private static final class Restarted extends ClassLoader {

    Restarted() {
      super(RestartTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.equals(Listener.class.getName()) || findLoadedClass(name) != null) {
        return super.loadClass(name, resolve);
      }
      try (var file = getResourceAsStream(name.replace('.', '/') + ".class")) {
        var bytes = file.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }
}
