package org.pgonce;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.context.SafeObserver;
import org.pgonce.internal.lifecycle.ListenSettings;
import org.pgonce.internal.listen.ListenAddresses;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.WakeUpSource;

/**
 * Settings of a {@link PgOnce}. A value outside its bounds is an {@link IllegalArgumentException},
 * null a {@link NullPointerException}; nothing is set then. Not safe for use by several threads.
 */
public final class PgOnceBuilder {

  private static final Duration HOUR = Duration.ofHours(1);

  private final DataSource dataSource;
  private @Nullable PayloadCodec codec;
  private final List<Observer> observers = new ArrayList<>();
  private final List<HandlerInterceptor> interceptors = new ArrayList<>();
  private List<WakeUpSource> sources = WakeUpSources.DEFAULT;
  private @Nullable ListenAddress listenAddress;
  private Duration pollInterval = Duration.ofSeconds(1);
  private Duration startTimeout = Duration.ofSeconds(30);
  private Duration stopTimeout = Duration.ofSeconds(20);
  private String instance = "pid " + ProcessHandle.current().pid();

  PgOnceBuilder(DataSource dataSource) {
    this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
  }

  /** Reads and writes payloads. Default {@link PayloadCodec#standard()}. */
  public PgOnceBuilder codec(PayloadCodec codec) {
    this.codec = Objects.requireNonNull(codec, "codec");
    return this;
  }

  /**
   * Adds one that hears what happens, for metrics. Each hears every event, in the order in which
   * they were added; what one throws is logged. Default none; {@link Observer#NONE} adds none.
   */
  public PgOnceBuilder observer(Observer observer) {
    if (Objects.requireNonNull(observer, "observer") != Observer.NONE) {
      observers.add(observer);
    }
    return this;
  }

  /**
   * What listens, by preference: the next is tried if one cannot connect though the server answers.
   * None: polling alone. Default {@link WakeUpSources#DEFAULT}.
   */
  public PgOnceBuilder wakeUpBy(WakeUpSource... sources) {
    for (var source : sources) {
      Objects.requireNonNull(source, "a wake-up source");
    }
    this.sources = List.of(sources);
    return this;
  }

  /**
   * Where the LISTEN connection goes. Default: as the module pgonce-pools reads it off the data
   * source (HikariCP, Agroal, DBCP2, tomcat-jdbc, c3p0, and those of the drivers). Needed where it
   * cannot, or the data source leads to a transaction-mode pooler.
   */
  public PgOnceBuilder listenAddress(ListenAddress address) {
    this.listenAddress = Objects.requireNonNull(address, "address");
    return this;
  }

  /**
   * The poll, one statement for all channels of the process, finds what no wake-up announced.
   * Default 1 s, which bounds how late such a notification is. It is at most 1 s while the LISTEN
   * connection is down, and while something waits. A heartbeat comes each 10 s, the housekeeping
   * each 150 s; both sooner with a shorter interval, and with each poll where polls are rarer.
   *
   * @param pollInterval 10 ms to 1 hour
   */
  public PgOnceBuilder pollInterval(Duration pollInterval) {
    OptionRanges.require(
        "pollInterval", pollInterval, Duration.ofMillis(10), HOUR, "10 ms and 1 hour");
    this.pollInterval = pollInterval;
    return this;
  }

  /**
   * For how long {@link PgOnce#start} tries again if it gets no connection, or loses it. Default 30
   * s. What waiting does not mend (a password, a right, a missing channel) is an error at once.
   *
   * @param startTimeout 0 to 1 hour; 0: the first failure is the last
   */
  public PgOnceBuilder startTimeout(Duration startTimeout) {
    OptionRanges.require("startTimeout", startTimeout, Duration.ZERO, HOUR, "0 and 1 hour");
    this.startTimeout = startTimeout;
    return this;
  }

  /**
   * How long {@link PgOnce#close} waits for running handlers before it interrupts them. Default 20
   * s.
   *
   * @param stopTimeout 0 to 1 hour
   */
  public PgOnceBuilder stopTimeout(Duration stopTimeout) {
    OptionRanges.require("stopTimeout", stopTimeout, Duration.ZERO, HOUR, "0 and 1 hour");
    this.stopTimeout = stopTimeout;
    return this;
  }

  /**
   * The process's name in the view {@code pgonce.listener_status}, 1 to 200 characters, not blank.
   * Default its process id.
   */
  public PgOnceBuilder instance(String name) {
    Objects.requireNonNull(name, "name");
    if (name.isBlank() || name.length() > 200) {
      throw new IllegalArgumentException(
          "instance name of " + name.length() + " characters: 1 to 200, not blank");
    }
    this.instance = name;
    return this;
  }

  /** Adds interceptors of every handler, inside those that were added before. Default none. */
  public PgOnceBuilder interceptors(HandlerInterceptor... interceptors) {
    this.interceptors.addAll(List.of(interceptors));
    return this;
  }

  /**
   * With the settings as they are now; what is set here later does not reach it.
   *
   * @throws IllegalStateException if no codec is given, and there is no standard one
   */
  public PgOnce build() {
    var chosen = codec == null ? PayloadCodec.standard() : codec;
    var given = listenAddress;
    var settings =
        new ListenSettings(
            sources,
            given == null ? () -> ListenAddresses.of(dataSource) : () -> List.of(given),
            given != null,
            pollInterval,
            startTimeout,
            instance);
    return new PgOnce(
        dataSource,
        chosen,
        new SafeObserver(List.copyOf(observers)),
        List.copyOf(interceptors),
        settings,
        stopTimeout);
  }
}
