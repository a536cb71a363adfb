package org.pgonce.testkit;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The constants of a class file: all methods that its code calls or refers to stand there, those in
 * lambdas and method references too (JVM specification, 4.4).
 */
final class ConstantPool {

  private static final int MAGIC = 0xCAFEBABE;

  private final Map<Integer, String> texts = new HashMap<>();
  private final Map<Integer, Integer> classNames = new HashMap<>();
  private final Map<Integer, Pair> namesAndTypes = new HashMap<>();
  private final Map<Integer, Pair> methods = new HashMap<>();

  /** Two constants by their numbers. */
  private record Pair(int first, int second) {}

  /**
   * A method as the class file names it.
   *
   * @param owner with slashes: {@code java/time/Instant}
   * @param type parameters and result: {@code ()Ljava/time/Instant;}
   */
  record Method(String owner, String name, String type) {}

  ConstantPool(InputStream classFile) throws IOException {
    var in = new DataInputStream(classFile);
    if (in.readInt() != MAGIC) {
      throw new IOException("not a class file");
    }
    in.readInt(); // its version
    var count = in.readUnsignedShort();
    for (var number = 1; number < count; number++) {
      if (read(in, number)) {
        number++; // a long or a double takes two numbers
      }
    }
  }

  private boolean read(DataInputStream in, int number) throws IOException {
    var tag = in.readUnsignedByte();
    switch (tag) {
      case 1 -> texts.put(number, in.readUTF());
      case 7 -> classNames.put(number, in.readUnsignedShort());
      case 10, 11 -> methods.put(number, pair(in)); // of classes, of interfaces
      case 12 -> namesAndTypes.put(number, pair(in));
      case 8, 16, 19, 20 -> in.skipNBytes(2); // String, MethodType, Module, Package
      case 15 -> in.skipNBytes(3); // MethodHandle
      case 3, 4, 9, 17, 18 -> in.skipNBytes(4); // int, float, field, dynamic
      case 5, 6 -> in.skipNBytes(8); // long, double
      default -> throw new IOException("constant " + number + " has the unknown tag " + tag);
    }
    return tag == 5 || tag == 6;
  }

  private static Pair pair(DataInputStream in) throws IOException {
    return new Pair(in.readUnsignedShort(), in.readUnsignedShort());
  }

  List<Method> methods() {
    return methods.values().stream()
        .map(
            method -> {
              var nameAndType = at(namesAndTypes, method.second);
              return new Method(
                  at(texts, at(classNames, method.first)),
                  at(texts, nameAndType.first),
                  at(texts, nameAndType.second));
            })
        .toList();
  }

  private static <T> T at(Map<Integer, T> constants, int number) {
    var constant = constants.get(number);
    if (constant == null) {
      throw new IllegalStateException("there is no such constant as " + number);
    }
    return constant;
  }
}
