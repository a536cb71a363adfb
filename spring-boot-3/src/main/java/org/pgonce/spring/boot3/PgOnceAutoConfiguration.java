package org.pgonce.spring.boot3;

import javax.sql.DataSource;
import org.pgonce.spring.internal.PgOnceConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.context.annotation.Import;

/** pgonce on the application's data source. */
@AutoConfiguration(after = DataSourceAutoConfiguration.class)
@ConditionalOnSingleCandidate(DataSource.class)
@ConditionalOnProperty(name = "pgonce.enabled", matchIfMissing = true)
@Import(PgOnceConfiguration.class)
public class PgOnceAutoConfiguration {}
