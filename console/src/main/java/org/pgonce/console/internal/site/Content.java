package org.pgonce.console.internal.site;

import java.util.List;
import org.pgonce.console.internal.page.Section;

/**
 * What a page shows.
 *
 * @param place its entry in the navigation
 * @param live whether the script asks for it again
 */
record Content(int status, String title, String place, boolean live, List<Section> sections) {

  static Content live(String title, String place, List<Section> sections) {
    return new Content(200, title, place, true, sections);
  }

  static Content still(String title, String place, List<Section> sections) {
    return new Content(200, title, place, false, sections);
  }

  static Content failed(int status, String title, String message) {
    return new Content(status, title, "", false, List.of(new Section.Note(message, "bad")));
  }
}
