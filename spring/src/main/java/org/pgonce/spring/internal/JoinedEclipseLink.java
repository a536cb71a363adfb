package org.pgonce.spring.internal;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.pgonce.Tx;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Gives the handler's repositories and entity managers one of EclipseLink on its connection.
 *
 * @param factory the bean, which is what Spring looks the entity manager up by
 * @param nativeFactory what is behind it
 * @param initializers what is done to each entity manager
 */
record JoinedEclipseLink(
    EntityManagerFactory factory,
    EntityManagerFactory nativeFactory,
    List<Consumer<EntityManager>> initializers)
    implements JoinedResource {

  /** The property of an entity manager that gives it a data source of its own. */
  private static final String DATA_SOURCE = "jakarta.persistence.nonJtaDataSource";

  /** Else queries before the first write would be on another connection. */
  private static final Map<String, String> ALWAYS =
      Map.of("eclipselink.jdbc.exclusive-connection.mode", "Always");

  private static final String PACKAGE = "org.eclipse.persistence.";

  static boolean isOne(Object nativeFactory) {
    return nativeFactory.getClass().getName().startsWith(PACKAGE);
  }

  @Override
  public Bound bind(Tx tx) {
    var connection = new HandlerConnection(tx);
    Map<String, Object> properties = new HashMap<>(ALWAYS);
    properties.put(DATA_SOURCE, connection.dataSource());
    var entities = nativeFactory.createEntityManager(properties);
    try {
      initializers.forEach(initializer -> initializer.accept(entities));
      entities.getTransaction().begin();
      TransactionSynchronizationManager.bindResource(factory, new EntitiesHolder(entities));
    } catch (Throwable e) {
      entities.close();
      throw e;
    }
    return new BoundEntities(factory, entities, connection);
  }

  private record BoundEntities(
      EntityManagerFactory factory, EntityManager entities, HandlerConnection connection)
      implements Bound {

    @Override
    public boolean isUsed() {
      return connection.isUsed();
    }

    @Override
    public boolean isRollbackOnly() {
      return entities.getTransaction().getRollbackOnly();
    }

    /** The entities are let go: in a batch this outlives its notification. */
    @Override
    public void flush() {
      entities.flush();
      entities.clear();
    }

    @Override
    public void unbind() {
      TransactionSynchronizationManager.unbindResourceIfPossible(factory);
    }

    /** EclipseLink learns only now how it ended: its shared cache must not know before. */
    @Override
    public void completed(Tx.Outcome outcome) {
      try {
        if (outcome == Tx.Outcome.COMMITTED) {
          entities.getTransaction().commit();
        } else {
          entities.getTransaction().rollback();
        }
      } finally {
        entities.close();
      }
    }
  }
}
