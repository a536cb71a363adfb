package org.pgonce.spring.test;

import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spring.PgOnceCustomizer;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.Subscription;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.context.annotation.Bean;
import org.springframework.core.type.MethodMetadata;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;
import org.springframework.core.type.filter.AbstractTypeHierarchyTraversingFilter;
import org.springframework.core.type.filter.AssignableTypeFilter;
import org.springframework.core.type.filter.TypeFilter;
import org.springframework.util.ClassUtils;

/** Leaves out of the component scan what {@link PgOnceListenerTest} does not load. */
final class SliceFilter extends TypeExcludeFilter {

  private static final List<Class<?>> LOADED =
      List.of(
          Channel.class,
          Subscription.class,
          PayloadCodec.class,
          HandlerInterceptor.class,
          PgOnceCustomizer.class);

  private static final TypeFilter LISTENS =
      new AbstractTypeHierarchyTraversingFilter(true, true) {
        @Override
        protected boolean matchSelf(MetadataReader type) {
          return type.getAnnotationMetadata().hasAnnotatedMethods(PgOnceListener.class.getName());
        }
      };

  /**
   * By declared types, as for Boot's conditions on beans: what else a method makes is known when it
   * is called, and a scan is over by then.
   */
  private static final TypeFilter DEFINES =
      new AbstractTypeHierarchyTraversingFilter(true, true) {
        @Override
        protected boolean matchSelf(MetadataReader type) {
          return type.getAnnotationMetadata().getAnnotatedMethods(Bean.class.getName()).stream()
              .map(MethodMetadata::getReturnTypeName)
              .filter(name -> ClassUtils.isPresent(name, null))
              .map(name -> ClassUtils.resolveClassName(name, null))
              .anyMatch(made -> LOADED.stream().anyMatch(loaded -> loaded.isAssignableFrom(made)));
        }
      };

  private final Set<String> listeners;

  SliceFilter(Set<String> listeners) {
    this.listeners = listeners;
  }

  @Override
  public boolean match(MetadataReader type, MetadataReaderFactory types) throws IOException {
    return !isLoaded(type, types) && !isListener(type, types) && !DEFINES.match(type, types);
  }

  private boolean isListener(MetadataReader type, MetadataReaderFactory types) throws IOException {
    return listeners.isEmpty()
        ? LISTENS.match(type, types)
        : listeners.contains(type.getClassMetadata().getClassName());
  }

  private static boolean isLoaded(MetadataReader type, MetadataReaderFactory types)
      throws IOException {
    for (var loaded : LOADED) {
      if (new AssignableTypeFilter(loaded).match(type, types)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof SliceFilter filter && filter.listeners.equals(listeners);
  }

  @Override
  public int hashCode() {
    return Objects.hash(SliceFilter.class, listeners);
  }
}
