package org.pgonce.spring.slice;

import org.springframework.context.annotation.Configuration;

/** Its channel is its parent's. */
@Configuration
class InheritedChannels extends LeftChannel {}
