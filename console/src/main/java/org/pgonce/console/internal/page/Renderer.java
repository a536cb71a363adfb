package org.pgonce.console.internal.page;

import gg.jte.ContentType;
import gg.jte.TemplateEngine;
import gg.jte.output.StringOutput;

/**
 * Makes HTML of pages, by the templates that the build has compiled. Safe for use by several
 * threads.
 */
public final class Renderer {

  private final TemplateEngine templates =
      TemplateEngine.createPrecompiled(
          null, ContentType.Html, null, "org.pgonce.console.internal.template");

  public String html(Page page) {
    var html = new StringOutput();
    templates.render("page.jte", page, html);
    return html.toString();
  }
}
