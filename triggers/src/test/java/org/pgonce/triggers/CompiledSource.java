package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles Java source in memory, with every warning an error. */
final class CompiledSource extends ClassLoader {

  private final Map<String, ByteArrayOutputStream> classes = new HashMap<>();

  private CompiledSource() {
    super(CompiledSource.class.getClassLoader());
  }

  /** The class of that name, which the source declares at its top. */
  static Class<?> load(String name, String source) throws ClassNotFoundException {
    var loader = new CompiledSource();
    loader.compile(name, source);
    return loader.loadClass(name);
  }

  private void compile(String name, String source) {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var said = new StringWriter();
    var options =
        List.of(
            "--release",
            "17",
            "-proc:none",
            "-Xlint:all",
            "-Werror",
            "-classpath",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    var standard = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
    var compiled =
        compiler
            .getTask(said, new InMemory(standard), null, options, null, List.of(file(name, source)))
            .call();
    assertThat(compiled).as("javac says: %s of: %s", said, source).isTrue();
  }

  private static JavaFileObject file(String name, String source) {
    return new SimpleJavaFileObject(
        URI.create("memory:///source.java"), JavaFileObject.Kind.SOURCE) {
      @Override
      public CharSequence getCharContent(boolean ignoreEncodingErrors) {
        return source;
      }

      @Override
      public boolean isNameCompatible(String simpleName, Kind kind) {
        return kind == Kind.SOURCE && simpleName.equals(name);
      }
    };
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    var bytes = classes.get(name);
    if (bytes == null) {
      throw new ClassNotFoundException(name);
    }
    return defineClass(name, bytes.toByteArray(), 0, bytes.size());
  }

  private final class InMemory extends ForwardingJavaFileManager<JavaFileManager> {

    InMemory(JavaFileManager standard) {
      super(standard);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
        Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
      return new SimpleJavaFileObject(URI.create("memory:///output.class"), kind) {
        @Override
        public OutputStream openOutputStream() {
          var bytes = new ByteArrayOutputStream();
          classes.put(className, bytes);
          return bytes;
        }
      };
    }
  }
}
