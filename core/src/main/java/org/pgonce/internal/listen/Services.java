package org.pgonce.internal.listen;

import java.util.ArrayList;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.slf4j.LoggerFactory;

/** What is on the class path or module path for an interface of {@code org.pgonce.spi}. */
public final class Services {

  private Services() {}

  /** Returns all, in their order; after one that cannot be loaded, those before it. */
  public static <S> List<S> found(Class<S> type) {
    List<S> found = new ArrayList<>();
    try {
      // By pgonce's own loader, as the context class loader is any caller's.
      ServiceLoader.load(type, type.getClassLoader()).forEach(found::add);
    } catch (ServiceConfigurationError e) {
      LoggerFactory.getLogger(Services.class)
          .warn("pgonce: a {} cannot be loaded; it goes on without", type.getSimpleName(), e);
    }
    return List.copyOf(found);
  }
}
