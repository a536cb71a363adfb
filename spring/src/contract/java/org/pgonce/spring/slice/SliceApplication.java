package org.pgonce.spring.slice;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** A service of which the tests load their slice. */
@SpringBootApplication
class SliceApplication {}
