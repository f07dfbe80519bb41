package latchkey.bench;

import java.util.Arrays;
import java.util.List;

/** Numbers in the order they came, without boxing. One thread adds; another may look at the same time. */
final class Samples {
    private long[] values = new long[1024];
    private int count;

    synchronized void add(long... some) {
        if (count + some.length > values.length) {
            values = Arrays.copyOf(values, values.length * 2);
        }
        System.arraycopy(some, 0, values, count, some.length);
        count += some.length;
    }

    synchronized long[] copy() {
        return Arrays.copyOf(values, count);
    }

    static long[] sorted(List<Samples> all) {
        return all.stream().flatMapToLong(one -> Arrays.stream(one.copy())).sorted().toArray();
    }

    /** The smallest sample that is not below `part` of them all; 0 when there is none. */
    static long percentile(long[] sorted, double part) {
        if (sorted.length == 0) {
            return 0;
        }
        int rank = (int) Math.ceil(part * sorted.length);
        return sorted[Math.max(rank, 1) - 1];
    }
}
