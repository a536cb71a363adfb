package org.pgonce.internal.context;

import java.util.List;
import org.pgonce.Publisher;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;

/**
 * What the application plugs into a listener.
 *
 * @param publisher writes with the codec
 * @param observer throws nothing; {@link Observer#NONE} itself where there is none
 * @param interceptors the outermost first
 */
public record Extensions(
    PayloadCodec codec,
    Publisher publisher,
    Observer observer,
    List<HandlerInterceptor> interceptors) {}
