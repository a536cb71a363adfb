package org.pgonce.spring.boot4;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.web.AdditionalPathsMapper;
import org.springframework.boot.actuate.endpoint.web.WebServerNamespace;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.health.actuate.endpoint.AdditionalHealthEndpointPath;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroup;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroups;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroupsPostProcessor;
import org.springframework.boot.health.actuate.endpoint.HttpCodeStatusMapper;
import org.springframework.boot.health.actuate.endpoint.StatusAggregator;
import org.springframework.core.env.Environment;

/**
 * Adds pgonce to the group {@code readiness}, where there is one that does not exclude it. Not to
 * {@code liveness}: a restart of the process would not mend it.
 */
final class ReadinessGroup implements HealthEndpointGroupsPostProcessor {

  private static final String NAME = "readiness";
  private static final String INDICATOR = "pgonce";

  private final Environment environment;

  ReadinessGroup(Environment environment) {
    this.environment = environment;
  }

  @Override
  public HealthEndpointGroups postProcessHealthEndpointGroups(HealthEndpointGroups groups) {
    var readiness = groups.get(NAME);
    return readiness == null || isExcluded() ? groups : new Groups(groups, new Group(readiness));
  }

  private boolean isExcluded() {
    return Binder.get(environment)
        .bind("management.endpoint.health.group.readiness.exclude", Bindable.setOf(String.class))
        .map(excluded -> excluded.contains(INDICATOR) || excluded.contains("*"))
        .orElse(false);
  }

  /** Boot's bean is a mapper of paths too, and is asked for as one by Spring Security's rules. */
  private record Groups(HealthEndpointGroups others, HealthEndpointGroup readiness)
      implements HealthEndpointGroups, AdditionalPathsMapper {

    @Override
    public HealthEndpointGroup getPrimary() {
      return others.getPrimary();
    }

    @Override
    public Set<String> getNames() {
      return others.getNames();
    }

    @Override
    public @Nullable HealthEndpointGroup get(String name) {
      return NAME.equals(name) ? readiness : others.get(name);
    }

    @Override
    public @Nullable List<String> getAdditionalPaths(
        EndpointId endpoint, WebServerNamespace namespace) {
      return others instanceof AdditionalPathsMapper mapper
          ? mapper.getAdditionalPaths(endpoint, namespace)
          : null;
    }
  }

  private record Group(HealthEndpointGroup group) implements HealthEndpointGroup {

    @Override
    public boolean isMember(String name) {
      return INDICATOR.equals(name) || group.isMember(name);
    }

    @Override
    public boolean showComponents(SecurityContext context) {
      return group.showComponents(context);
    }

    @Override
    public boolean showDetails(SecurityContext context) {
      return group.showDetails(context);
    }

    @Override
    public StatusAggregator getStatusAggregator() {
      return group.getStatusAggregator();
    }

    @Override
    public HttpCodeStatusMapper getHttpCodeStatusMapper() {
      return group.getHttpCodeStatusMapper();
    }

    @Override
    public @Nullable AdditionalHealthEndpointPath getAdditionalPath() {
      return group.getAdditionalPath();
    }
  }
}
