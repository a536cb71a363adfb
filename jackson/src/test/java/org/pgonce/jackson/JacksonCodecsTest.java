package org.pgonce.jackson;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.spi.CodecProvider;
import org.pgonce.spi.PayloadCodec;
import org.postgresql.ds.PGSimpleDataSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;

/** Which Jackson is taken, by what a service has on its class path. */
class JacksonCodecsTest {

  private static final String JACKSON3 = "tools.jackson.";
  private static final String JACKSON2 = "com.fasterxml.jackson.databind.";
  // jackson-annotations have them since 2.22, and Jackson 3.2 needs them.
  private static final String NEW_ANNOTATIONS = "com.fasterxml.jackson.annotation.JsonApplyView";
  private static final String ANY_ANNOTATIONS = "com.fasterxml.jackson.annotation.";

  /** The class path of this test, without some of its packages. */
  private static class Service extends URLClassLoader {

    private final List<String> without;

    Service(String... without) {
      super(classPath(), ClassLoader.getPlatformClassLoader());
      this.without = List.of(without);
    }

    private static URL[] classPath() {
      return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
          .map(Path::of)
          .map(Service::url)
          .toArray(URL[]::new);
    }

    private static URL url(Path path) {
      try {
        return path.toUri().toURL();
      } catch (MalformedURLException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (without.stream().anyMatch(name::startsWith)) {
        throw new ClassNotFoundException(name);
      }
      return super.findClass(name);
    }

    @Override
    public void addURL(URL url) {
      super.addURL(url);
    }

    /** Runs the class in this service. */
    Object call(Class<?> program) throws Exception {
      var constructor = loadClass(program.getName()).getDeclaredConstructor();
      constructor.setAccessible(true);
      return ((Callable<?>) constructor.newInstance()).call();
    }
  }

  static final class Standard implements Callable<String> {
    record Order(long orderId) {}

    @Override
    public String call() throws Exception {
      var codec = PayloadCodec.standard();
      PgOnce.using(new PGSimpleDataSource())
          .listen(Channel.of("a", Order.class), (order, tx) -> {});
      var read = codec.decode(codec.encode(new Order(1), Order.class), Order.class);
      return codec.getClass().getSimpleName() + " " + read.orderId();
    }
  }

  static final class OfItsOwn implements Callable<String> {

    private static final PayloadCodec OWN =
        new PayloadCodec() {
          @Override
          public <T> String encode(T payload, Class<T> type) {
            return "\"" + payload + "\"";
          }

          @Override
          public <T> T decode(String json, Class<T> type) {
            return type.cast(json);
          }
        };

    @Override
    public String call() {
      try (var pgonce = PgOnce.builder(new PGSimpleDataSource()).codec(OWN).build()) {
        pgonce.listen(Channel.of("a", String.class), (one, tx) -> {});
        return Publisher.with(OWN).getClass().getSimpleName();
      }
    }
  }

  private static Object standardWithout(String... packages) throws Exception {
    try (var service = new Service(packages)) {
      return service.call(Standard.class);
    }
  }

  @Test
  void jackson3IsTakenWhereBothAre() throws Exception {
    assertThat(standardWithout()).isEqualTo("JacksonCodec 1");
    assertThat(standardWithout(JACKSON2)).isEqualTo("JacksonCodec 1");
  }

  @Test
  void jackson2IsTakenWhereJackson3IsNotThereOrCannotBeUsed() throws Exception {
    assertThat(standardWithout(JACKSON3)).isEqualTo("Jackson2Codec 1");
    assertThat(standardWithout(NEW_ANNOTATIONS)).isEqualTo("Jackson2Codec 1");
  }

  @Test
  void whatCannotBeUsedIsSaidWithItsVersion() {
    assertRefused(
        "Jackson 3: it is not on the class path. Jackson 2, from 2.18 on: it is not",
        JACKSON3,
        JACKSON2);
    assertRefused("Jackson 3: version 3.", NEW_ANNOTATIONS, JACKSON2);
    assertRefused("The jackson-annotations are of version 2.", NEW_ANNOTATIONS, JACKSON2);
    assertRefused("JsonApplyView", NEW_ANNOTATIONS, JACKSON2);
    assertRefused("Jackson 2, from 2.18 on: version 2.", ANY_ANNOTATIONS);
  }

  @Test
  void aJackson3ThatIsThereAndFailsIsNotReplaced() {
    var broken = new IllegalArgumentException("a broken mapper");
    assertThatThrownBy(
            () ->
                JacksonCodecs.chosen(
                    () -> {
                      throw broken;
                    },
                    Jackson2Codec::new))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll("Jackson 3", "a broken mapper", "PgOnceBuilder.codec")
        .hasCause(broken);
  }

  /** As one that was built for another release of Jackson. */
  public static final class OfAnotherRelease extends SimpleModule {
    private static final long serialVersionUID = 1L;

    @Override
    public void setupModule(SetupContext context) {
      throw new NoSuchMethodError("a method of another release");
    }
  }

  /** Else Jackson 2 would take its place, as where Jackson 3 is missing. */
  @Test
  void aKnownModuleThatCannotBeSetUpIsNamed() {
    var name = OfAnotherRelease.class.getName();
    assertThatThrownBy(
            () ->
                KnownModules.there(
                    List.of(name),
                    SimpleModule.class,
                    module -> JsonMapper.builder().addModule(module).build()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll(name, "cannot be used")
        .hasCauseInstanceOf(NoSuchMethodError.class);
  }

  /** A module that some other mapper of the service has. */
  public static final class OfAnother extends SimpleModule {
    private static final long serialVersionUID = 1L;

    @Override
    public void setupModule(SetupContext context) {
      throw new UnsupportedOperationException("not for this mapper");
    }
  }

  @Test
  void modulesOfOtherMappersChangeNothing(@TempDir Path folder) throws Exception {
    var services = Files.createDirectories(folder.resolve("META-INF/services"));
    Files.writeString(
        services.resolve("tools.jackson.databind.JacksonModule"), OfAnother.class.getName());
    try (var service = new Service()) {
      service.addURL(folder.toUri().toURL());
      assertThat(service.call(Standard.class)).isEqualTo("JacksonCodec 1");
    }
  }

  private static void assertRefused(String words, String... without) {
    assertThatThrownBy(() -> standardWithout(without))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("pgonce finds no Jackson that it can use")
        .hasMessageContaining(words)
        .hasMessageContaining("PgOnceBuilder.codec");
  }

  @Test
  void aCodecOfOnesOwnNeedsNoJackson() throws Exception {
    try (var service = new Service(JACKSON3, JACKSON2, ANY_ANNOTATIONS)) {
      assertThat(service.call(OfItsOwn.class)).isEqualTo("Publisher");
    }
  }

  /** One more than there may be. */
  public static final class Second implements CodecProvider {
    @Override
    public PayloadCodec codec() {
      return OfItsOwn.OWN;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "org.pgonce.jackson.JacksonCodecsTest$Second, several codecs",
    "org.example.Missing, cannot be loaded"
  })
  void aChoiceAmongCodecsIsNotMadeSilently(String provider, String said, @TempDir Path folder)
      throws Exception {
    var services = Files.createDirectories(folder.resolve("META-INF/services"));
    Files.writeString(services.resolve(CodecProvider.class.getName()), provider);
    try (var service = new Service()) {
      service.addURL(folder.toUri().toURL());
      assertThatThrownBy(() -> service.call(Standard.class))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll(said, provider, "PgOnceBuilder.codec");
      assertThat(service.call(OfItsOwn.class)).isEqualTo("Publisher");
    }
  }

  @Test
  void withoutTheModuleTheMessageNamesIt() throws IOException {
    try (var service =
        new Service() {
          @Override
          public java.util.Enumeration<URL> findResources(String name) throws IOException {
            return name.startsWith("META-INF/services/org.pgonce.spi.Codec")
                ? java.util.Collections.emptyEnumeration()
                : super.findResources(name);
          }
        }) {
      assertThatThrownBy(() -> service.call(Standard.class))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("pgonce-jackson");
    }
  }
}
