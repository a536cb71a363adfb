package org.pgonce.internal.listen;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** A self-signed certificate for 127.0.0.1 and its key, made by openssl. */
record TestCertificate(Path certificate, Path key) {

  /** Makes one in the directory; skips the test where openssl is missing. */
  static TestCertificate signedWith(String digest, Path directory) throws Exception {
    var made =
        new TestCertificate(directory.resolve(digest + ".crt"), directory.resolve(digest + ".key"));
    int status = -1;
    try {
      var openssl =
          new ProcessBuilder(
                  "openssl",
                  "req",
                  "-x509",
                  "-newkey",
                  "rsa:2048",
                  "-nodes",
                  "-days",
                  "2",
                  "-" + digest,
                  "-subj",
                  "/CN=localhost",
                  "-addext",
                  "subjectAltName=IP:127.0.0.1,DNS:localhost",
                  "-keyout",
                  made.key.toString(),
                  "-out",
                  made.certificate.toString())
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      if (!openssl.waitFor(30, TimeUnit.SECONDS)) {
        openssl.destroyForcibly();
      } else {
        status = openssl.exitValue();
      }
    } catch (IOException e) {
      Assumptions.abort("skipped: no openssl on this machine (" + e.getMessage() + ")");
    }
    Assumptions.assumeTrue(status == 0, "skipped: openssl made no certificate");
    // The server refuses a key that others may read.
    Files.setPosixFilePermissions(made.key, PosixFilePermissions.fromString("rw-------"));
    return made;
  }
}
