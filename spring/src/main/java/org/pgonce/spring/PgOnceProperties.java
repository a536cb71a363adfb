package org.pgonce.spring;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.ListenOptions;
import org.pgonce.spi.ListenAddress;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code pgonce.*}.
 *
 * @param enabled Whether there is a PgOnce at all.
 * @param dataSource Name of the DataSource bean that pgonce works on. Default the only one, or the
 *     primary one.
 * @param autoStartup Whether to listen once the context is ready. If not, the schema and the
 *     channels are still installed or checked.
 * @param warnSecondConnection Whether to log a warning, once per place, where a listener takes a
 *     second connection of a pool. An aid for development: each DataSource bean is a proxy of its
 *     class then, which hides the pool's own meters.
 * @param install What is done about the schema and the channels before the listeners start.
 * @param startFailure What happens when the listeners cannot start.
 * @param startTimeout For how long each step of a start, to install or check and then to listen,
 *     tries again while the database cannot be reached. Default 30s.
 * @param stopTimeout How long running handlers are waited for. Default 20s. It is cut to
 *     spring.lifecycle.timeout-per-shutdown-phase less 6s, within which everything is stopped.
 * @param pollInterval How often the database is asked for what no wake-up announced. Default 1s.
 * @param instance The process's name in the view pgonce.listener_status. Default its process id.
 * @param listenAddress Where the LISTEN connection goes, if not where the data source does.
 * @param console The console's pages in the service's own web server.
 * @param channels Settings of the channels' handlers in this process, by the channels' names.
 */
@ConfigurationProperties("pgonce")
public record PgOnceProperties(
    @DefaultValue("true") boolean enabled,
    @Nullable String dataSource,
    @DefaultValue("true") boolean autoStartup,
    @DefaultValue("false") boolean warnSecondConnection,
    @DefaultValue("always") Install install,
    @DefaultValue("fail") StartFailure startFailure,
    @Nullable Duration startTimeout,
    @Nullable Duration stopTimeout,
    @Nullable Duration pollInterval,
    @Nullable String instance,
    @Nullable Address listenAddress,
    @DefaultValue Console console,
    @DefaultValue Map<String, ChannelSettings> channels) {

  /** What is done about the schema and the channels. */
  public enum Install {
    /** Nothing. The start checks the channels that have a listener. */
    NEVER,
    /** All channel beans are checked: a difference is a failure to start. */
    VALIDATE,
    /** The schema and all channel beans are installed, or renewed. */
    ALWAYS
  }

  /** What happens when the listeners cannot start. */
  public enum StartFailure {
    /** The application does not start. */
    FAIL,
    /** The application starts, its health is DOWN, and the start is tried again until it works. */
    RETRY
  }

  /**
   * Where the LISTEN connection goes.
   *
   * @param host Name or address of the server.
   * @param port TCP port.
   * @param database Name of the database.
   * @param username Login role. Default the operating system's user.
   * @param password Password. Default none.
   * @param properties Further connection properties, in pgjdbc's names.
   */
  public record Address(
      String host,
      @DefaultValue("5432") int port,
      String database,
      @Nullable String username,
      @Nullable String password,
      @DefaultValue Map<String, String> properties) {

    /**
     * Both have to be set.
     *
     * @throws IllegalArgumentException if the host or the database is missing
     */
    public Address {
      require("host", host);
      require("database", database);
    }

    private static void require(String name, @Nullable String value) {
      if (value == null) {
        throw new IllegalArgumentException(
            "pgonce.listen-address.%s is missing: where one of pgonce.listen-address is set, nothing is taken from the data source, and host and database are required"
                .formatted(name));
      }
    }

    /** What the builder takes. */
    public ListenAddress toListenAddress() {
      return new ListenAddress(host, port, database, username, password, properties);
    }

    /** Leaves the password out. */
    @Override
    public String toString() {
      return toListenAddress().toString();
    }
  }

  /**
   * The console's pages in the service's own web server. Needs the artifact pgonce-console and
   * Spring MVC.
   *
   * @param enabled Whether the console's pages are there.
   * @param path Where the console's pages are, below the service's own context path; without a
   *     slash at its end.
   * @param operate Whether something can be done on the console's pages. Needs Spring Security;
   *     without it the pages are for reading, by everyone.
   * @param viewers Authorities of Spring Security, one of which a login needs in order to look.
   *     Payloads stay hidden.
   * @param operators Authorities, one of which a login needs in order to operate and to read
   *     payloads. It may look, too.
   */
  public record Console(
      @DefaultValue("false") boolean enabled,
      @DefaultValue("/pgonce") String path,
      @DefaultValue("false") boolean operate,
      @DefaultValue("ROLE_PGONCE_MONITOR") List<String> viewers,
      @DefaultValue("ROLE_PGONCE_ADMIN") List<String> operators) {

    /**
     * @throws IllegalArgumentException if the path does not begin with a slash, or ends with one
     */
    public Console {
      if (!path.matches("(/[A-Za-z0-9._~-]+)+")) {
        throw new IllegalArgumentException(
            "pgonce.console.path=%s is none: as /pgonce, without a slash at its end"
                .formatted(path));
      }
      viewers = List.copyOf(viewers);
      operators = List.copyOf(operators);
    }
  }

  /**
   * Overrides what the code says of the channel's handlers.
   *
   * @param concurrency Handlers at once in this process.
   * @param batch Notifications that one transaction handles at most.
   * @param maxAttempts Attempts before a notification becomes a dead letter.
   * @param backoffFirst How long a notification waits behind its first failure, doubled with each
   *     further one.
   * @param backoffLongest Up to what the wait is doubled.
   * @param handlerTimeout How long a handler may run.
   * @param lease How long a claim holds without renewal, in AT_LEAST_ONCE and AT_MOST_ONCE.
   */
  public record ChannelSettings(
      @Nullable Integer concurrency,
      @Nullable Integer batch,
      @Nullable Integer maxAttempts,
      @Nullable Duration backoffFirst,
      @Nullable Duration backoffLongest,
      @Nullable Duration handlerTimeout,
      @Nullable Duration lease) {

    /**
     * The options with what is set here.
     *
     * @throws IllegalArgumentException if a setting is outside its bounds
     */
    public ListenOptions over(ListenOptions options) {
      return new ListenOptions(
          concurrency == null ? options.concurrency() : concurrency,
          maxAttempts == null ? options.maxAttempts() : maxAttempts,
          backoffOver(options.backoff()),
          handlerTimeout == null ? options.handlerTimeout() : handlerTimeout,
          batch == null ? options.batch() : batch,
          lease == null ? options.lease() : lease);
    }

    /** What is set here, and else what is set there. */
    public ChannelSettings orElse(ChannelSettings there) {
      return new ChannelSettings(
          concurrency == null ? there.concurrency : concurrency,
          batch == null ? there.batch : batch,
          maxAttempts == null ? there.maxAttempts : maxAttempts,
          backoffFirst == null ? there.backoffFirst : backoffFirst,
          backoffLongest == null ? there.backoffLongest : backoffLongest,
          handlerTimeout == null ? there.handlerTimeout : handlerTimeout,
          lease == null ? there.lease : lease);
    }

    private Backoff backoffOver(Backoff backoff) {
      return new Backoff(
          backoffFirst == null ? backoff.first() : backoffFirst,
          backoffLongest == null ? backoff.longest() : backoffLongest);
    }
  }
}
