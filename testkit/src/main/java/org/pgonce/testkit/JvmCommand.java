package org.pgonce.testkit;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How a {@link JvmProcess} is to be started. For one thread. */
public final class JvmCommand {

  // Most children live for a second or two, and many start at once: what a long life pays back
  // (the optimizing compiler, collectors with threads of their own) is a cost here.
  private static final List<String> STARTS_FAST =
      List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

  private final Class<?> main;
  private final List<String> options = new ArrayList<>();
  private final List<String> arguments = new ArrayList<>();
  private final Map<String, String> environment = new LinkedHashMap<>();

  JvmCommand(Class<?> main) {
    this.main = main;
  }

  /** Adds options of the JVM, such as {@code -Xmx64m}. */
  public JvmCommand options(String... more) {
    options.addAll(List.of(more));
    return this;
  }

  /** Sets a system property of the child. */
  public JvmCommand property(String name, @Nullable Object value) {
    return options("-D" + name + "=" + value);
  }

  /** Adds arguments of the main class. They show in the system's list of processes: no secrets. */
  public JvmCommand arguments(String... more) {
    arguments.addAll(List.of(more));
    return this;
  }

  /** Sets a variable of the child's environment, which is this JVM's otherwise. */
  public JvmCommand environment(String name, String value) {
    environment.put(name, value);
    return this;
  }

  public JvmProcess start() {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(STARTS_FAST);
    command.addAll(options);
    command.add(main.getName());
    command.addAll(arguments);
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
    builder.environment().putAll(environment);
    try {
      return new JvmProcess(builder.start());
    } catch (IOException e) {
      throw new IllegalStateException(
          "No JVM starts for %s with %s".formatted(main.getName(), command.get(0)), e);
    }
  }
}
