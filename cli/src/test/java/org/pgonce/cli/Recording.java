package org.pgonce.cli;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What a terminal has shown, as an SVG that plays it again and again; where motion is not wanted,
 * it shows the last screen.
 */
record Recording(String command, List<String> screens) {

  private static final int COLUMN = 8;
  private static final int LINE = 20;
  private static final int BORDER = 16;

  /** Per screen. */
  private static final int SECONDS = 2;

  String svg() {
    var lines = screens.stream().mapToInt(screen -> (int) screen.lines().count()).max().orElse(0);
    var columns = screens.stream().flatMap(String::lines).mapToInt(String::length).max().orElse(0);
    var width = 2 * BORDER + COLUMN * Math.max(columns, command.length() + 2);
    var height = 2 * BORDER + LINE * (lines + 1);
    return """
        <svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" role="img" aria-label="%3$s">
        <style>
        rect { fill: #14181d; }
        text { fill: #e7ebf0; font: 13px ui-monospace, monospace; white-space: pre; }
        .command { fill: #8cc0ff; }
        .screen { opacity: 0; animation: shown %4$ds step-end infinite; }
        %5$s
        @keyframes shown { from { opacity: 1; } %6$s%% { opacity: 0; } }
        @media (prefers-reduced-motion: reduce) { .screen { animation: none; } .screen:last-child { opacity: 1; } }
        </style>
        <rect width="%1$d" height="%2$d" rx="8"/>
        <text class="command" x="%7$d" y="%8$d">$ %9$s</text>
        %10$s
        </svg>
        """
        .formatted(
            width,
            height,
            escaped(command + ", every " + SECONDS + " seconds"),
            SECONDS * screens.size(),
            IntStream.range(0, screens.size())
                .mapToObj(i -> ".s%d { animation-delay: %ds; }".formatted(i, SECONDS * i))
                .collect(Collectors.joining("\n")),
            100.0 / screens.size(),
            BORDER,
            BORDER + LINE / 2,
            escaped(command),
            IntStream.range(0, screens.size())
                .mapToObj(
                    i -> "<g class=\"screen s%d\">%n%s%n</g>".formatted(i, lines(screens.get(i))))
                .collect(Collectors.joining("\n")));
  }

  private static String lines(String screen) {
    var lines = screen.lines().toList();
    return IntStream.range(0, lines.size())
        .mapToObj(
            i ->
                "<text x=\"%d\" y=\"%d\">%s</text>"
                    .formatted(BORDER, BORDER + LINE / 2 + LINE * (i + 1), escaped(lines.get(i))))
        .collect(Collectors.joining("\n"));
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
