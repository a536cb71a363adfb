package org.pgonce.testkit;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.pgonce.testkit.ConstantPool.Method;

/** Who asks this machine what time it is: looked up in the class files, so that nobody can hide. */
public final class WallClock {

  // Waiting until a time of day; a Timer, which counts by it; and clocks to be asked.
  private static final Set<String> METHODS =
      Set.of(
          "java/lang/System.currentTimeMillis",
          "java/util/Calendar.getInstance",
          "java/util/concurrent/locks/LockSupport.parkUntil",
          "java/util/concurrent/locks/Condition.awaitUntil");
  private static final Set<String> CLASSES =
      Set.of("java/time/Clock", "java/time/InstantSource", "java/util/Timer");
  private static final Set<String> CONSTRUCTORS =
      Set.of("java/util/Date", "java/util/GregorianCalendar");

  private WallClock() {}

  /**
   * The methods by which the classes of a module read it, each as {@code who: what}; empty if none
   * does.
   *
   * @param any one of its classes; all that were compiled with it are looked at
   */
  public static List<String> readByModuleOf(Class<?> any) throws IOException {
    var reads = new ArrayList<String>();
    for (var file : classFilesBeside(any)) {
      try (var in = Files.newInputStream(file)) {
        var who = String.valueOf(file.getFileName()).replace(".class", "");
        new ConstantPool(in)
            .methods().stream()
                .filter(WallClock::isReadBy)
                .map(method -> who + ": " + method.owner() + "." + method.name())
                .forEach(reads::add);
      }
    }
    reads.sort(null);
    return reads;
  }

  /** The class files of the folder that it was compiled to. */
  private static List<Path> classFilesBeside(Class<?> any) throws IOException {
    try {
      var root = Path.of(any.getProtectionDomain().getCodeSource().getLocation().toURI());
      if (!Files.isDirectory(root)) {
        throw new IllegalArgumentException(any + " comes from " + root + ", which is no folder");
      }
      try (var files = Files.walk(root)) {
        return files.filter(file -> file.toString().endsWith(".class")).toList();
      }
    } catch (URISyntaxException e) {
      throw new IllegalArgumentException(any + " comes from no file", e);
    }
  }

  private static boolean isReadBy(Method method) {
    return METHODS.contains(method.owner() + "." + method.name())
        || CLASSES.contains(method.owner())
        || (method.owner().startsWith("java/time/") && method.name().matches("now|dateNow"))
        || (CONSTRUCTORS.contains(method.owner())
            && method.name().equals("<init>")
            && ofNow(method));
  }

  /** Without a point in time they are made of the present one. */
  private static boolean ofNow(Method method) {
    return !method.type().startsWith("(J") && !method.type().startsWith("(I");
  }
}
