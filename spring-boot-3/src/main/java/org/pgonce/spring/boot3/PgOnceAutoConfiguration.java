package org.pgonce.spring.boot3;

import org.pgonce.spring.internal.PgOnceConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.context.annotation.Import;

/** pgonce on the data source that {@code pgonce.data-source} names, the only or the primary one. */
@AutoConfiguration(after = DataSourceAutoConfiguration.class)
@ConditionalOnProperty(name = "pgonce.enabled", matchIfMissing = true)
@Import(PgOnceConfiguration.class)
public class PgOnceAutoConfiguration {}
