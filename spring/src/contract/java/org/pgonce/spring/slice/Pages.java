package org.pgonce.spring.slice;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
class Pages {

  Pages(Clock clock) {}

  @GetMapping("/")
  String page() {
    return "";
  }
}
