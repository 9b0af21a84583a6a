package dev.recollect;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The entries of a list that the server returns in pages. Each iteration begins with the first
 * page and calls the server when it needs the next one.
 *
 * @param <T> the type of the entries
 */
public final class Pages<T> implements Iterable<T> {
    private final Function<String, Page<T>> read;

    <R> Pages(Function<String, R> read, Function<R, List<T>> entries, Function<R, String> next) {
        this.read = token -> {
            var response = read.apply(token);
            return new Page<>(entries.apply(response), next.apply(response));
        };
    }

    private record Page<T>(List<T> entries, String next) {}

    /** The entries as a stream. */
    public Stream<T> stream() {
        return StreamSupport.stream(spliterator(), false);
    }

    @Override
    public Iterator<T> iterator() {
        return new Iterator<>() {
            private Iterator<T> page = Collections.emptyIterator();
            private String token = "";
            private boolean last;

            @Override
            public boolean hasNext() {
                while (!page.hasNext() && !last) {
                    var read = Pages.this.read.apply(token);
                    page = read.entries().iterator();
                    token = read.next();
                    last = token.isEmpty();
                }
                return page.hasNext();
            }

            @Override
            public T next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return page.next();
            }
        };
    }
}
