package org.pgonce.console.internal.site;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.Request;
import org.pgonce.console.Response;
import org.pgonce.console.Visitor;
import org.pgonce.console.internal.act.Rights;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.look.Counts;
import org.pgonce.console.internal.look.History;
import org.pgonce.console.internal.look.Source;
import org.pgonce.console.internal.page.Page;
import org.pgonce.console.internal.page.Renderer;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.RefusedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the page for a request. Safe for use by several threads. */
public final class Site {

  private static final Logger LOG = LoggerFactory.getLogger(Site.class);

  private static final Map<String, String> PLACES =
      Map.of(
          "channels", "Channels",
          "dead", "Dead letters",
          "listeners", "Listeners",
          "definitions", "Definitions",
          "log", "Operation log",
          "server", "Server");
  private static final List<String> ORDER =
      List.of("channels", "dead", "listeners", "definitions", "log", "server");

  private final Source source;
  private final boolean operates;
  private final Renderer renderer = new Renderer();
  private final History history = new History();
  private final Examination examination = new Examination();

  /**
   * @param operates whether anything may be done here at all
   */
  public Site(Source source, boolean operates) {
    this.source = source;
    this.operates = operates;
  }

  public Response answer(Request request, Visitor visitor) {
    var paths = new Paths(request.base());
    try {
      return dispatch(request, visitor, paths);
    } catch (ForbiddenException e) {
      return page(paths, Content.failed(403, "Not allowed", String.valueOf(e.getMessage())), null);
    } catch (Visit.BadRequestException e) {
      return page(
          paths, Content.failed(400, "Not understood", String.valueOf(e.getMessage())), null);
    } catch (RefusedException e) {
      return page(
          paths,
          Content.failed(status(e), "The database refused", String.valueOf(e.getMessage())),
          null);
    } catch (RuntimeException e) {
      // Without its message on the page: it may quote anything.
      LOG.error("pgonce console: a page failed", e);
      return page(
          paths,
          Content.failed(500, "This page failed", "The console's log says why. This is a bug."),
          null);
    }
  }

  private static int status(RefusedException refused) {
    return refused.getCause() instanceof SQLException sql
        ? switch (String.valueOf(sql.getSQLState())) {
          case "42501" -> 403;
          case "42704" -> 404; // no such channel or subscription
          case "22007", "22008", "22023" -> 400; // a time or a reason that is none
          default -> 503;
        }
        : 503;
  }

  private Response dispatch(Request request, Visitor visitor, Paths paths) {
    var path = request.path();
    if (request.isPost() && !path.equals(List.of("act"))) {
      return page(paths, Content.failed(405, "Not allowed", "This page takes no POST."), null)
          .with("Allow", "GET, HEAD");
    }
    try (var database = source.open()) {
      var visit = new Visit(request, visitor, paths, database, may(database, visitor));
      if (request.isPost()) {
        var done = ActPage.act(visit);
        forget();
        return done;
      }
      return page(paths, content(visit, path), visit);
    }
  }

  /** What was looked at before no longer counts. */
  public void forget() {
    history.expire();
    examination.expire();
  }

  private Set<Verb> may(Database database, Visitor visitor) {
    return operates && visitor.mayAct() ? database.read(Rights::of) : EnumSet.noneOf(Verb.class);
  }

  private Content content(Visit visit, List<String> path) {
    var depth = path.size();
    var first = depth == 0 ? "" : path.get(0);
    if (depth == 2 && first.equals("channel")) {
      return ChannelPage.of(visit, path.get(1), history);
    } else if (depth == 3 && first.equals("channel")) {
      return NotificationPage.of(visit, path.get(1), Visit.id(path.get(2)));
    } else if (depth > 1) {
      return nowhere();
    }
    return switch (first) {
      case "" -> ChannelsPage.of(visit, counts(visit), history);
      case "dead" -> DeadPage.of(visit);
      case "listeners" -> ListenersPage.of(visit);
      case "definitions" -> DefinitionsPage.of(visit, examination);
      case "log" -> LogPage.of(visit);
      case "server" -> ServerPage.of(visit, examination);
      case "act" -> ActPage.ask(visit);
      default -> nowhere();
    };
  }

  private static Content nowhere() {
    return Content.failed(404, "No such page", "There is no such page.");
  }

  private Counts counts(Visit visit) {
    return history.counts(() -> visit.database().read(Counts::read));
  }

  /**
   * @param visit null where the page failed: then nothing is asked of the database
   */
  private Response page(Paths paths, Content content, @Nullable Visit visit) {
    var sections = new ArrayList<Section>();
    if (visit != null) {
      sections.addAll(ActPage.done(visit));
    }
    sections.addAll(content.sections());
    var navigation =
        ORDER.stream()
            .map(
                place ->
                    new Link(
                        PLACES.getOrDefault(place, place),
                        place.equals("channels") ? paths.channels() : paths.page(place),
                        place.equals(content.place())))
            .toList();
    var footer =
        visit == null
            ? null
            : visit.may().isEmpty()
                ? "For reading only."
                : "Actions are done as %s, and stand in the operation log."
                    .formatted(
                        visit.visitor().person() == null
                            ? "the console's database role"
                            : visit.visitor().person());
    return Response.html(
        content.status(),
        renderer.html(
            new Page(content.title(), paths.base(), navigation, footer, content.live(), sections)));
  }

  /** A page for a visitor who may not look: without a word about the database. */
  public Response stranger(String base, int status, String title, Section section) {
    return Response.html(
        status, renderer.html(new Page(title, base, List.of(), null, false, List.of(section))));
  }
}
