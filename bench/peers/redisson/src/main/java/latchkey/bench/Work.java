package latchkey.bench;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.redisson.api.RLock;

/**
 * What the verbs measure, as loops over locks. Warming up runs the same loops on other names. Spans are taken
 * from the monotonic clock, moments from the wall clock.
 */
final class Work {
    private static final int GRANT_WORDS = 4;

    private Work() {
    }

    interface Body {
        void run(int thread) throws Exception;
    }

    static long wallUs() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toMicros(now.getEpochSecond()) + now.getNano() / 1000;
    }

    static long nanos(double seconds) {
        return (long) (seconds * 1e9);
    }

    /** Thread i locks and unlocks locks[i]. */
    static String pairs(List<RLock> locks, double seconds) throws InterruptedException {
        List<Samples> all = new ArrayList<>();
        locks.forEach(lock -> all.add(new Samples()));
        long start = System.nanoTime();
        long end = start + nanos(seconds);
        join(spawn(locks.size(), i -> {
            RLock lock = locks.get(i);
            Samples samples = all.get(i);
            for (long before = System.nanoTime(); before < end;) {
                lock.lock();
                lock.unlock();
                long after = System.nanoTime();
                samples.add(after - before);
                before = after;
            }
        }), Long.MAX_VALUE);
        double took = (System.nanoTime() - start) / 1e9;
        long[] sorted = Samples.sorted(all);
        return String.format("{\"pairs\": %d, \"seconds\": %.6f, \"p50\": %.1f, \"p99\": %.1f}", sorted.length,
                took, Samples.percentile(sorted, 0.50) / 1e3, Samples.percentile(sorted, 0.99) / 1e3);
    }

    /** All threads want the one lock; `read` is null when there is no such lock, and then never wanted. */
    static String contend(RLock write, RLock read, int threads, long holdUs, int reads, double seconds)
            throws InterruptedException {
        List<Samples> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            all.add(new Samples());
        }
        long start = System.nanoTime();
        long end = start + nanos(seconds);
        join(spawn(threads, i -> {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            for (long asked = System.nanoTime(); asked < end; asked = System.nanoTime()) {
                boolean reading = random.nextInt(100) < reads;
                RLock lock = reading ? read : write;
                lock.lock();
                long got = System.nanoTime();
                if (got < end) {
                    all.get(i).add(wallUs(), i, (got - asked) / 1000, reading ? 0 : 1);
                }
                hold(holdUs);
                lock.unlock();
            }
        }), end + nanos(seconds));
        return grants(all, seconds);
    }

    private static String grants(List<Samples> all, double seconds) {
        StringBuilder out = new StringBuilder("{\"seconds\": ").append(seconds).append(", \"grants\": [");
        String comma = "";
        for (Samples one : all) {
            long[] words = one.copy();
            for (int i = 0; i < words.length; i += GRANT_WORDS) {
                out.append(comma).append('[').append(words[i]).append(", ").append(words[i + 1]).append(", ")
                        .append(words[i + 2]).append(", ").append(words[i + 3]).append(']');
                comma = ", ";
            }
        }
        return out.append("]}").toString();
    }

    /** Thread.sleep of Java 17 rounds up to whole milliseconds; parking does not. */
    private static void hold(long us) {
        long end = System.nanoTime() + us * 1000;
        for (long left = us * 1000; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** The threads are daemons: those that still wait when the time is over do not keep the process. */
    private static List<Thread> spawn(int count, Body body) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                try {
                    body.run(number);
                } catch (Exception e) {
                    Driver.fail(e);
                }
            });
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        return threads;
    }

    private static void join(List<Thread> threads, long untilNanos) throws InterruptedException {
        for (Thread thread : threads) {
            if (untilNanos == Long.MAX_VALUE) {
                thread.join();
                continue;
            }
            long left = TimeUnit.NANOSECONDS.toMillis(untilNanos - System.nanoTime());
            if (left <= 0) {
                return;
            }
            thread.join(left);
        }
    }
}
