package org.pgonce.spring.slice;

import org.springframework.stereotype.Service;

/** What no listener needs. */
@Service
class Clock {}
