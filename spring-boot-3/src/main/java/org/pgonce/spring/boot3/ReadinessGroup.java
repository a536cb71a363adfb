package org.pgonce.spring.boot3;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.health.AdditionalHealthEndpointPath;
import org.springframework.boot.actuate.health.HealthEndpointGroup;
import org.springframework.boot.actuate.health.HealthEndpointGroups;
import org.springframework.boot.actuate.health.HealthEndpointGroupsPostProcessor;
import org.springframework.boot.actuate.health.HttpCodeStatusMapper;
import org.springframework.boot.actuate.health.StatusAggregator;

/**
 * Adds pgonce to the group {@code readiness}, where there is one. Not to {@code liveness}: a
 * restart of the process would not mend it.
 */
final class ReadinessGroup implements HealthEndpointGroupsPostProcessor {

  private static final String NAME = "readiness";

  @Override
  public HealthEndpointGroups postProcessHealthEndpointGroups(HealthEndpointGroups groups) {
    var readiness = groups.get(NAME);
    return readiness == null ? groups : new Groups(groups, new Group(readiness));
  }

  private record Groups(HealthEndpointGroups others, HealthEndpointGroup readiness)
      implements HealthEndpointGroups {

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
  }

  private record Group(HealthEndpointGroup group) implements HealthEndpointGroup {

    @Override
    public boolean isMember(String name) {
      return "pgonce".equals(name) || group.isMember(name);
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
