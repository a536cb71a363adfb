package org.pgonce.benchmarks;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.plots.Plot;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Where curves are drawn, if anywhere. */
final class PlotOptions {

  static final String NAME = "--plots";

  @Option(
      names = NAME,
      paramLabel = "<directory>",
      converter = DirectoryConverter.class,
      description = {
        "Draw the curves as SVG files of this directory, which is made if it is not there; files of the same name are written over.",
        "What is no curve is not drawn: flat without --pinned, peers with --drain."
      })
  private @Nullable Path directory;

  /**
   * Draws it, if that is asked for.
   *
   * @param name of the file, without its ending
   */
  void draw(String name, Supplier<Plot> plot) {
    if (directory == null) {
      return;
    }
    var file = directory.resolve(name + ".svg");
    try {
      plot.get().write(file);
    } catch (IOException e) {
      throw new IllegalStateException(
          "the figures are printed, but " + file + " cannot be written. Look at its disk", e);
    }
  }

  /** Tries fonts and directory, which it makes: a run is long, and would end without its plots. */
  static final class DirectoryConverter implements ITypeConverter<Path> {
    @Override
    public Path convert(String text) throws IOException {
      var whyNot = Plot.whyNot();
      if (whyNot != null) {
        throw new TypeConversionException(
            "no plot can be drawn, this JVM finds no fonts: %s. Install fontconfig and a font, such as DejaVu, or leave --plots out"
                .formatted(whyNot));
      }
      var directory = Path.of(text);
      try {
        Files.createDirectories(directory);
        Files.delete(Files.createTempFile(directory, "plot", ".svg"));
        return directory;
      } catch (IOException e) {
        throw new TypeConversionException(
            "no plot can be written to %s: %s. Name a directory that is there or can be made, where this user may write"
                .formatted(directory.toAbsolutePath(), reason(e)));
      }
    }

    private static String reason(IOException e) {
      if (e instanceof FileAlreadyExistsException) {
        return "it is a file";
      }
      if (e instanceof AccessDeniedException) {
        return "permission denied";
      }
      var told = e instanceof FileSystemException system ? system.getReason() : null;
      return Objects.requireNonNullElse(told, e.toString());
    }
  }
}
