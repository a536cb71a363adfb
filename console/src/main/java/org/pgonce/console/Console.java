package org.pgonce.console;

import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Source;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.site.Paths;
import org.pgonce.console.internal.site.Site;
import org.pgonce.console.internal.web.StaticFiles;

/**
 * The console's pages, without a server: a request in, a response out.
 *
 * <p>Each page takes a connection from the data source, runs transactions of 5 s a statement at
 * most, and gives it back. The connection is one of pgjdbc, or of a pool over it. Its role looks
 * with {@code GRANT pgonce_monitor}, and acts with {@code GRANT pgonce_admin}.
 *
 * <p>Whoever calls {@link #answer} has found out who the visitor is, and that this visitor may
 * look; {@link ConsoleServer} does so for the command line.
 *
 * <p>Safe for use by several threads. It holds no thread and no connection, so it is not closed.
 */
public final class Console {

  private final Site site;
  private final StaticFiles files = StaticFiles.load();

  private Console(Site site) {
    this.site = site;
  }

  /**
   * Opens no connection.
   *
   * @param path where its pages are, as {@code /pgonce}; empty for the root
   * @param operates whether anything can be done here; false: for reading only, whatever the
   *     database role may do
   * @throws IllegalArgumentException if the path is neither empty nor begins with a slash, or ends
   *     with one
   */
  public static Console of(DataSource dataSource, String path, boolean operates) {
    Objects.requireNonNull(dataSource, "dataSource");
    if (!path.isEmpty() && !path.matches("(/[A-Za-z0-9._~-]+)+")) {
      throw new IllegalArgumentException(
          "path \"%s\" is none: empty, or as /pgonce, without a slash at its end".formatted(path));
    }
    return new Console(new Site(new Source(dataSource), operates, new Paths(path)));
  }

  /** Never throws for what the request holds: what cannot be answered has a status that says so. */
  public Response answer(Request request, Visitor visitor) {
    var file = files.find(request.path());
    if (file != null) {
      return file;
    }
    return switch (request.method()) {
      case "GET", "HEAD", "POST" -> site.answer(request, visitor);
      default -> Response.text(405, "GET, HEAD or POST\n").with("Allow", "GET, HEAD, POST");
    };
  }

  void forget() {
    site.forget();
  }

  /** A page for somebody who may not look. */
  Response stranger(int status, String title, Section section) {
    return site.stranger(status, title, section);
  }

  /** What all may have: styles and scripts. Null for all else. */
  @Nullable Response file(Request request) {
    return files.find(request.path());
  }
}
