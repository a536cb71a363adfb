package org.pgonce.console.internal.page;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.page.Section.Link;

/**
 * A whole page.
 *
 * @param base the console's own path, without a slash at its end
 * @param navigation empty for a visitor who may not look
 * @param footer which database, as whom, and whether something can be done
 * @param live whether the script asks for it again every two seconds
 */
public record Page(
    String title,
    String base,
    List<Link> navigation,
    @Nullable String footer,
    boolean live,
    List<Section> sections) {}
