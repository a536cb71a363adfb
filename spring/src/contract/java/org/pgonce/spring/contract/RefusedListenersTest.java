package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.pgonce.spring.PgOnceHeader;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.Subscription;
import org.pgonce.spring.contract.parent.HiddenListener;
import org.pgonce.spring.internal.PgOnceConfiguration;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.support.PropertySourcesPlaceholderConfigurer;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** What could not work is refused when the context starts, before any SQL. */
@Tag("second")
class RefusedListenersTest {

  record SignedUp(long userId) {}

  // No @Configuration: the contract's application would find it.
  @Import(PgOnceConfiguration.class)
  static class Base {

    @Bean
    DataSource dataSource() {
      return new PGSimpleDataSource(); // nothing connects
    }

    @Bean
    Channel<SignedUp> signedUp() {
      return Channel.of("signed_up", SignedUp.class);
    }
  }

  private static void start(Class<?> listeners, Map<String, Object> properties) {
    start(listeners, new MapPropertySource("t", properties));
  }

  private static void start(Class<?> listeners, PropertySource<?> properties) {
    try (var context = new AnnotationConfigApplicationContext()) {
      context.getEnvironment().getPropertySources().addFirst(properties);
      context.register(Base.class, listeners);
      context.refresh();
    }
  }

  private static void assertRefused(Class<?> listeners, String... parts) {
    assertThatThrownBy(() -> start(listeners, Map.of()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll(parts);
  }

  @Test
  void propagationsThatLeaveTheTransactionAreRefused() {
    assertRefused(OfItsOwn.class, "OfItsOwn.handle", "propagation = REQUIRES_NEW", "done twice");
    assertRefused(Never.class, "Never.handle", "propagation = NEVER");
    assertRefused(NotSupported.class, "NotSupported.handle", "propagation = NOT_SUPPORTED");
  }

  static class OfItsOwn {
    @PgOnceListener(channel = "signed_up")
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    void handle(SignedUp signedUp) {}
  }

  static class Never {
    @PgOnceListener(channel = "signed_up")
    @Transactional(propagation = Propagation.NEVER)
    void handle(SignedUp signedUp) {}
  }

  @Transactional(propagation = Propagation.NOT_SUPPORTED)
  static class NotSupported {
    @PgOnceListener(channel = "signed_up")
    void handle(SignedUp signedUp) {}
  }

  @Test
  void methodsThatCannotListenAreRefused() {
    assertRefused(TakesOther.class, "takes java.lang.String", "SignedUp", "the Tx");
    assertRefused(TakesOtherList.class, "takes java.util.List<java.lang.String>");
    assertRefused(TakesTwo.class, "twice");
    assertRefused(TakesBoth.class, "a List beside one of its elements", "SignedUp");
    assertRefused(Returns.class, "returns CompletableFuture");
    assertRefused(Asynchronous.class, "@Async");
    assertRefused(BadSetting.class, "concurrency = \"many\" cannot be read");
    assertRefused(OutOfBounds.class, "concurrency 0 is not between 1 and 1,000");
    assertRefused(BadBackoff.class, "BadBackoff.handle: backoffFirst = \"soon\" cannot be read");
    assertRefused(
        BackoffTooShort.class, "BackoffTooShort.handle: first backoff PT0S is below 1 ms");
    assertRefused(
        BackoffUpsideDown.class,
        "BackoffUpsideDown.handle: longest backoff PT1S is not between the first, PT5S, and 365 days");
  }

  /** It would run on the proxy itself, whose fields are empty. */
  @Test
  void finalMethodBehindAProxyIsRefused() {
    assertRefused(
        Proxied.class, "FinalMethod.handle is final", "behind a proxy", "Leave final out");
  }

  /** A proxy in another package cannot override it. */
  @Test
  void packagePrivateMethodBehindAProxyOfAnotherPackageIsRefused() {
    assertRefused(
        HiddenBehindProxy.class,
        "Hidden.handle is package-private in org.pgonce.spring.contract.parent.HiddenListener",
        "behind a proxy",
        "protected");
  }

  static class HiddenBehindProxy {

    @Bean
    static Hidden listener() {
      var factory = new ProxyFactory(new Hidden());
      factory.setProxyTargetClass(true);
      return (Hidden) factory.getProxy();
    }
  }

  static class Hidden extends HiddenListener {}

  static class Proxied {

    @Bean
    static FinalMethod listener() {
      var factory = new ProxyFactory(new FinalMethod());
      factory.setProxyTargetClass(true);
      return (FinalMethod) factory.getProxy();
    }
  }

  static class FinalMethod {
    @PgOnceListener(channel = "signed_up")
    final void handle(SignedUp signedUp) {}
  }

  static class TakesOther {
    @PgOnceListener(channel = "signed_up")
    void handle(String text) {}
  }

  static class TakesOtherList {
    @PgOnceListener(channel = "signed_up")
    void handle(List<String> texts) {}
  }

  static class TakesTwo {
    @PgOnceListener(channel = "signed_up")
    void handle(Notification<SignedUp> one, Notification<SignedUp> two) {}
  }

  static class TakesBoth {
    @PgOnceListener(channel = "signed_up")
    void handle(List<Notification<SignedUp>> all, SignedUp one, Tx tx) {}
  }

  /** Boot describes what says so itself; all else it leaves to a stack trace. */
  @Test
  void whatOthersRefuseIsSaidWithItsPlace() {
    assertRefused(Unreadable.class, "on Unreadable.handle (bean", "no payload can be decoded as");
    assertRefused(Unnamed.class, "on Unnamed.handle (bean", "[default] and not with mail");
    assertRefused(Unresolved.class, "on Unresolved.handle: ", "placeholder 'none'");
    assertRefused(PrivateBehindProxy.class, "on Private.handle: ", "Switch its visibility");
  }

  static class Unreadable {
    @Bean
    static Channel<Runnable> runs() {
      return Channel.of("runs", Runnable.class);
    }

    @PgOnceListener(channel = "runs")
    void handle(Runnable run) {}
  }

  static class Unnamed {
    @PgOnceListener(channel = "signed_up", subscription = "mail")
    void handle(SignedUp signedUp) {}
  }

  static class Unresolved {
    @Bean
    static PropertySourcesPlaceholderConfigurer strict() { // as Boot has it
      return new PropertySourcesPlaceholderConfigurer();
    }

    @PgOnceListener(channel = "${none}")
    void handle(SignedUp signedUp) {}
  }

  static class PrivateBehindProxy {

    @Bean
    static Private listener() {
      var factory = new ProxyFactory(new Private());
      factory.setProxyTargetClass(true);
      return (Private) factory.getProxy();
    }
  }

  static class Private {
    @PgOnceListener(channel = "signed_up")
    @SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // found by its annotation
    private void handle(SignedUp signedUp) {}
  }

  @Test
  void secondListenerOfASubscriptionIsRefusedByBothNames() {
    assertRefused(
        Two.class,
        "@PgOnceListener on Two.mail (bean ",
        "@PgOnceListener on Two.audit (bean ",
        "both listen to channel signed_up, which has one handler in a process",
        "ChannelOptions.withSubscriptions",
        "raise its concurrency");
    assertRefused(
        BeanAndMethod.class,
        "a Subscription bean and @PgOnceListener on BeanAndMethod.handle",
        "both listen to subscription mail of channel two_names");
  }

  static class Two {
    @PgOnceListener(channel = "signed_up")
    void mail(SignedUp signedUp) {}

    @PgOnceListener(channel = "signed_up")
    void audit(SignedUp signedUp) {}
  }

  static class BeanAndMethod {

    @Bean
    static Channel<SignedUp> twoNames() {
      return Channel.of(
          "two_names",
          SignedUp.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withSubscriptions("mail", "audit"));
    }

    @Bean
    static Subscription<SignedUp> mail(Channel<SignedUp> twoNames) {
      return Subscription.of(twoNames).named("mail").handle((notification, tx) -> {});
    }

    @PgOnceListener(channel = "two_names", subscription = "mail")
    void handle(SignedUp signedUp) {}
  }

  @Test
  void headersThatCannotBeTakenAreRefused() {
    assertRefused(
        TakesUnknown.class,
        "@PgOnceListener on TakesUnknown.handle takes header tenant, which no notification has",
        "attempt, channel, context, deliveryKey, depth, id, storedAt, subscription",
        "in the map context");
    assertRefused(TakesPayloadAsHeader.class, "takes header payload, which no notification has");
    assertRefused(
        TakesKeyAsNumber.class, "takes header deliveryKey as long. Take it as java.lang.String");
    assertRefused(
        TakesOtherMap.class,
        "takes header context as java.util.Map<java.lang.String, java.lang.Object>",
        "Take it as java.util.Map<java.lang.String, java.lang.String>");
    assertRefused(TakesAttemptTwice.class, "takes header attempt twice");
    assertRefused(
        TakesHeaderOfBatch.class,
        "a List beside one of its elements: header attempt",
        "each notification of the List has its payload and its headers");
    assertRefused(TakesTimeOfBroadcast.class, "takes header storedAt of channel told", "BROADCAST");
  }

  static class TakesUnknown {
    @PgOnceListener(channel = "signed_up")
    void handle(SignedUp signedUp, @PgOnceHeader String tenant) {}
  }

  static class TakesPayloadAsHeader {
    @PgOnceListener(channel = "signed_up")
    void handle(@PgOnceHeader SignedUp payload) {}
  }

  static class TakesKeyAsNumber {
    @PgOnceListener(channel = "signed_up")
    void handle(SignedUp signedUp, @PgOnceHeader long deliveryKey) {}
  }

  static class TakesOtherMap {
    @PgOnceListener(channel = "signed_up")
    void handle(SignedUp signedUp, @PgOnceHeader Map<String, Object> context) {}
  }

  static class TakesAttemptTwice {
    @PgOnceListener(channel = "signed_up")
    void handle(@PgOnceHeader int attempt, @PgOnceHeader("attempt") Integer again) {}
  }

  static class TakesHeaderOfBatch {
    @PgOnceListener(channel = "signed_up")
    void handle(List<Notification<SignedUp>> all, @PgOnceHeader int attempt, Tx tx) {}
  }

  static class TakesTimeOfBroadcast {

    @Bean
    static Channel<SignedUp> told() {
      return Channel.of("told", SignedUp.class, Mode.BROADCAST);
    }

    @PgOnceListener(channel = "told")
    void handle(SignedUp signedUp, @PgOnceHeader Instant storedAt) {}
  }

  static class Returns {
    @PgOnceListener(channel = "signed_up")
    CompletableFuture<Void> handle(SignedUp signedUp) {
      return CompletableFuture.completedFuture(null);
    }
  }

  static class Asynchronous {
    @Async
    @PgOnceListener(channel = "signed_up")
    void handle(SignedUp signedUp) {}
  }

  static class BadSetting {
    @PgOnceListener(channel = "signed_up", concurrency = "${no.such:many}")
    void handle(SignedUp signedUp) {}
  }

  static class BadBackoff {
    @PgOnceListener(channel = "signed_up", backoffFirst = "soon")
    void handle(SignedUp signedUp) {}
  }

  static class BackoffTooShort {
    @PgOnceListener(channel = "signed_up", backoffFirst = "0ms")
    void handle(SignedUp signedUp) {}
  }

  static class BackoffUpsideDown {
    @PgOnceListener(channel = "signed_up", backoffFirst = "5s", backoffLongest = "1s")
    void handle(SignedUp signedUp) {}
  }

  static class OutOfBounds {
    @PgOnceListener(channel = "signed_up", concurrency = "0")
    void handle(SignedUp signedUp) {}
  }

  @Test
  void twoBeansOfOneChannelAreNamed() {
    assertThatThrownBy(() -> start(Again.class, Map.of()))
        .hasRootCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("beans signedUp and again are both a channel named signed_up");
  }

  static class Again {
    @Bean
    Channel<SignedUp> again() {
      return Channel.of("signed_up", SignedUp.class);
    }
  }

  @Test
  void h87_unknownChannelIsRefusedWithWhatIsNear() {
    assertRefused(
        Misspelt.class, "Misspelt.handle names channel singed_up", "Did you mean signed_up?");
  }

  static class Misspelt {
    @PgOnceListener(channel = "singed_up")
    void handle(SignedUp signedUp) {}
  }

  @ParameterizedTest
  @ValueSource(strings = {"signd_up", "[signed.upp]"})
  void h87_unknownChannelInAPropertyIsRefusedWithWhatIsNear(String name) {
    var property = "pgonce.channels." + name + ".concurrency";
    assertThatThrownBy(() -> start(Misspelt.class, Map.of(property, "2")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll("pgonce.channels.", "no channel bean", "Did you mean signed_up?");
  }

  /** As a variable of the environment cuts it, in which an underscore separates. */
  @Test
  void channelCutAtAnUnderscoreIsRefusedWithHowToWriteIt() {
    assertThatThrownBy(
            () -> start(Plain.class, variable("PGONCE_CHANNELS_SIGNED_UP_CONCURRENCY", "2")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll(
            "pgonce.channels.signed names channel signed", "PGONCE_CHANNELS_SIGNEDUP_CONCURRENCY");
    assertThatThrownBy(
            () -> start(Plain.class, variable("PGONCE_CHANNELS_SIGNEDUP_CONCURRENCY", "0")))
        .hasMessageContaining("pgonce.channels.signed_up: concurrency 0 is not between");
  }

  private static PropertySource<?> variable(String name, String value) {
    return new SystemEnvironmentPropertySource(
        StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, Map.of(name, value));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "pgonce.poll-intervall",
        "pgonce.channels.signed_up.concurency",
        "pgonce.console.operat"
      })
  void misspeltPropertyIsRefused(String property) {
    assertThatThrownBy(() -> start(Plain.class, Map.of(property, "2")))
        .hasStackTraceContaining(property.replace("signed_up", "signedup"))
        .hasStackTraceContaining("unbound");
  }

  /** Of Kubernetes, for a service that is named pgonce, for example. */
  @Test
  void variablesOfTheEnvironmentMayBeForOthers() {
    assertThatThrownBy(() -> start(Misspelt.class, variable("PGONCE_PORT", "tcp://10.0.0.1:80")))
        .hasMessageContaining("Misspelt.handle names channel singed_up"); // no sooner
  }

  @ParameterizedTest
  @ValueSource(strings = {"host", "database"})
  void listenAddressThatLacksAPartIsRefused(String other) {
    var lacks = other.equals("host") ? "database" : "host";
    assertThatThrownBy(() -> start(Plain.class, Map.of("pgonce.listen-address." + other, "pg")))
        .hasRootCauseInstanceOf(IllegalArgumentException.class)
        .hasStackTraceContaining("pgonce.listen-address.%s is missing".formatted(lacks));
  }

  @Test
  void propertyOutsideItsBoundsIsRefused() {
    assertThatThrownBy(
            () -> start(Plain.class, Map.of("pgonce.channels.signed_up.concurrency", "0")))
        .hasMessageContaining(
            "pgonce.channels.signed_up: concurrency 0 is not between 1 and 1,000");
    assertThatThrownBy(
            () -> start(Plain.class, Map.of("pgonce.channels.signed_up.backoff-first", "30m")))
        .hasMessageContaining(
            "pgonce.channels.signed_up: longest backoff PT15M is not between the first, PT30M,");
  }

  static class Plain {
    @PgOnceListener(channel = "signed_up")
    void handle(SignedUp signedUp) {}
  }
}
