package org.pgonce.guards;

import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.guards.internal.GuardService;
import org.pgonce.spi.PayloadCodec;

/** Settings of {@link Guards}. Not safe for use by several threads. */
public final class GuardsBuilder {

  private final DataSource dataSource;
  private @Nullable PayloadCodec codec;
  private String instance = "pid " + ProcessHandle.current().pid();

  GuardsBuilder(DataSource dataSource) {
    this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
  }

  /** Writes requests, reads and writes responses. Default {@link PayloadCodec#standard()}. */
  public GuardsBuilder codec(PayloadCodec codec) {
    this.codec = Objects.requireNonNull(codec, "codec");
    return this;
  }

  /**
   * The process's name in the view {@code pgonce_guards.guard_status}, 1 to 200 characters. Default
   * its process id.
   *
   * @throws IllegalArgumentException if it is blank or longer
   */
  public GuardsBuilder instance(String name) {
    this.instance = Guards.requireText("instance", name, 200);
    return this;
  }

  /**
   * Opens no connection.
   *
   * @throws IllegalStateException if no codec is given, and there is no standard one
   */
  public Guards build() {
    var chosen = codec == null ? PayloadCodec.standard() : codec;
    return new Guards(GuardService.over(dataSource, chosen, instance));
  }
}
