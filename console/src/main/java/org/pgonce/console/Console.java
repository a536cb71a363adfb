package org.pgonce.console;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Source;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Note;
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
 * look; {@link ConsoleServer} does so for the command line, and the Spring Boot starters by Spring
 * Security.
 *
 * <p>Safe for use by several threads. It holds no thread and no connection, so it is not closed.
 */
public final class Console {

  private static final int WAIT_SECONDS = 2;

  private final Site site;
  private final Semaphore places;
  private final StaticFiles files = StaticFiles.load();

  private Console(Site site, Semaphore places) {
    this.site = site;
    this.places = places;
  }

  /**
   * Opens no connection.
   *
   * @param operates whether anything can be done here; false: for reading only, whatever the
   *     database role may do
   * @param atOnce how many pages are made at once, each with a connection: 1 or more. Further ones
   *     wait for 2 s, and are refused then
   */
  public static Console of(DataSource dataSource, boolean operates, int atOnce) {
    Objects.requireNonNull(dataSource, "dataSource");
    if (atOnce < 1) {
      throw new IllegalArgumentException("pages at once: %d, at least 1".formatted(atOnce));
    }
    return new Console(new Site(new Source(dataSource), operates), new Semaphore(atOnce));
  }

  /**
   * Never throws for what the request holds: what cannot be answered has a status that says so. An
   * interrupt while it waits is answered by 503, and the thread stays interrupted.
   */
  public Response answer(Request request, Visitor visitor) {
    var file = file(request);
    if (file != null) {
      return file;
    }
    return switch (request.method()) {
      case "GET", "HEAD", "POST" ->
          isAStrangersLink(request)
              ? Response.seeOther(request.base() + "/")
              : inItsPlace(request, visitor);
      default -> Response.text(405, "GET, HEAD or POST\n").with("Allow", "GET, HEAD, POST");
    };
  }

  /** Not even a dry run for it. */
  private static boolean isAStrangersLink(Request request) {
    return !request.isPost()
        && request.path().equals(List.of("act"))
        && request.isLedHereFromElsewhere();
  }

  private Response inItsPlace(Request request, Visitor visitor) {
    try {
      if (!places.tryAcquire(WAIT_SECONDS, TimeUnit.SECONDS)) {
        return busy();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return busy();
    }
    try {
      return site.answer(request, visitor);
    } finally {
      places.release();
    }
  }

  private static Response busy() {
    return Response.text(503, "The console is busy: try again.\n").with("Retry-After", "2");
  }

  /**
   * A page for somebody who may not look, or whose form is refused: without a word about the
   * database, of which nothing is asked.
   *
   * @param why one sentence or two
   */
  public Response refuse(Request request, int status, String title, String why) {
    return stranger(request, status, title, new Note(why, "bad"));
  }

  Response stranger(Request request, int status, String title, Section section) {
    return site.stranger(request.base(), status, title, section);
  }

  void forget() {
    site.forget();
  }

  /** What all may have: styles and scripts. Null for all else. */
  public @Nullable Response file(Request request) {
    return files.find(request.path());
  }
}
