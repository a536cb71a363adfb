package org.pgonce.console.internal.site;

import java.util.List;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section.Fact;
import org.pgonce.console.internal.page.Section.Facts;

/** The server, and what doctor finds wrong with it. */
final class ServerPage {

  private ServerPage() {}

  static Content of(Visit visit, Examination examination) {
    var where = visit.rows(Queries.WHERE).objects().get(0);
    return Content.still(
        "Server",
        "server",
        List.of(
            new Facts(
                "Where this is",
                where.entrySet().stream()
                    .map(one -> Fact.of(one.getKey().replace('_', ' '), one.getValue()))
                    .toList()),
            examination.table(visit.database(), false)));
  }
}
