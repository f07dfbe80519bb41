package latchkey.bench;

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Supplier;
import org.redisson.api.RFuture;
import org.redisson.api.RLock;

/** The contract of bench/peers/README.md: verbs, `ready`, the line on stdin, the object. */
final class Driver {
    private static final double WARM_SECONDS =
            Double.parseDouble(System.getenv().getOrDefault("LATCHKEY_BENCH_WARM_S", "2"));
    private static final int WARM_CONTENDERS = 16;
    /** Owners that readers are made with; far from the ids of this process's threads. */
    private static final long FIRST_READER = 1_000_000;

    private final Supplier<Peer> connect;
    private final String prefix;
    private Peer peer;

    private Driver(Supplier<Peer> connect, String prefix) {
        this.connect = connect;
        this.prefix = prefix;
    }

    public static void main(String[] args) {
        Locale.setDefault(Locale.ROOT);
        try {
            if (args.length == 2 && args[1].equals("about")) {
                System.out.println(Peer.about(args[0]));
                return;
            }
            if (args.length < 5) {
                throw new IllegalArgumentException("NAME SOCKET LEASE_MS LOCK VERB [WORD…]");
            }
            String verb = args[4];
            String[] words = Arrays.copyOfRange(args, 5, args.length);
            if (Peer.isFair(args[0]) && needsReads(verb, words)) {
                System.out.println("unsupported");
                return;
            }
            int waiters = verb.equals("contend") ? Integer.parseInt(words[0]) : 0;
            long leaseMs = Long.parseLong(args[2]);
            new Driver(() -> Peer.connect(args[0], args[1], leaseMs, waiters), args[3]).run(verb, words);
            System.out.flush();
            // Redisson's own shutdown waits for seconds; its threads have nothing left to do.
            Runtime.getRuntime().halt(0);
        } catch (Exception e) {
            fail(e);
        }
    }

    static void fail(Exception e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(1);
    }

    private static boolean needsReads(String verb, String[] words) {
        return switch (verb) {
            case "pairs" -> words[0].equals("read");
            case "contend" -> Integer.parseInt(words[2]) > 0;
            case "readers" -> true;
            default -> false;
        };
    }

    private void run(String verb, String[] words) throws Exception {
        switch (verb) {
            case "pairs" -> pairs(words[0].equals("read"), number(words[1]), Double.parseDouble(words[2]));
            case "contend" -> contend(number(words[0]), Long.parseLong(words[1]), number(words[2]),
                    Double.parseDouble(words[3]));
            case "readers" -> readers(number(words[0]), Double.parseDouble(words[1]));
            case "hold" -> hold(number(words[0]), Double.parseDouble(words[1]));
            case "keep" -> keep();
            case "await" -> await();
            default -> throw new IllegalArgumentException("no such verb: " + verb);
        }
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    private String lockName(int number) {
        return prefix + ":" + number;
    }

    /** Each process has names of its own to warm up on, so that none waits for another. */
    private String warmName(int number) {
        return prefix + ":warm:" + ProcessHandle.current().pid() + ":" + number;
    }

    private static List<RLock> locks(int count, Function<Integer, RLock> make) {
        List<RLock> locks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            locks.add(make.apply(i));
        }
        return locks;
    }

    private static void readyAndWait() throws Exception {
        ready();
        if (new BufferedReader(new InputStreamReader(System.in)).readLine() == null) {
            throw new EOFException("no line on stdin");
        }
    }

    private static void ready() {
        System.out.println("ready");
        System.out.flush();
    }

    private interface Warming {
        void run(Peer warm) throws Exception;
    }

    /**
     * Warms up the JVM with a client that is then closed, and opens the one that will be measured. With one
     * client for both, what warming leaves would be measured: Redisson sets a renewal timer when it gets its
     * only lock, does not cancel it at unlock, and one that fires while a lock is held renews from then on, so
     * that the thousands of locks of a warm-up become thousands of renewals of each lock.
     */
    private void open(int threads, Warming warming) throws Exception {
        Peer warm = connect.get();
        warming.run(warm);
        warm.close();
        peer = connect.get();
        peer.openConnections(warmName(0), threads);
    }

    private void openWithPairs(boolean reading, int threads) throws Exception {
        open(threads, warm -> Work.pairs(
                locks(threads, i -> reading ? warm.read(warmName(i)) : warm.write(warmName(i))), WARM_SECONDS));
    }

    private void pairs(boolean reading, int threads, double seconds) throws Exception {
        openWithPairs(reading, threads);
        List<RLock> locks = locks(threads, i -> reading ? peer.read(lockName(i)) : peer.write(lockName(i)));
        readyAndWait();
        System.out.println(Work.pairs(locks, seconds));
    }

    private void contend(int threads, long holdUs, int reads, double seconds) throws Exception {
        // More threads would make nothing hotter, and many must all be served before the warm-up is over.
        int warmThreads = Math.min(threads, WARM_CONTENDERS);
        open(threads, warm -> Work.contend(warm.write(warmName(0)), reads > 0 ? warm.read(warmName(0)) : null,
                warmThreads, holdUs, reads, WARM_SECONDS));
        RLock write = peer.write(lockName(0));
        RLock read = reads > 0 ? peer.read(lockName(0)) : null;
        readyAndWait();
        System.out.println(Work.contend(write, read, threads, holdUs, reads, seconds));
    }

    private void readers(int count, double seconds) throws Exception {
        openWithPairs(true, 1);
        RLock lock = peer.read(lockName(0));
        List<RFuture<Void>> asked = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            asked.add(lock.lockAsync(FIRST_READER + i));
        }
        for (RFuture<Void> one : asked) {
            one.toCompletableFuture().get();
        }
        readyAndWait();
        String result = Work.pairs(List.of(lock), seconds);
        for (int i = 0; i < count; i++) {
            if (!lock.isHeldByThread(FIRST_READER + i)) {
                throw new IllegalStateException("reader " + i + " of " + count + " was lost");
            }
        }
        System.out.println(result);
    }

    private void hold(int count, double seconds) throws Exception {
        openWithPairs(false, 1);
        List<RLock> locks = locks(count, i -> peer.write(lockName(i)));
        locks.forEach(RLock::lock);
        readyAndWait();
        Thread.sleep((long) (seconds * 1000));
        long held = locks.stream().filter(RLock::isHeldByCurrentThread).count();
        System.out.println("{\"held\": " + held + ", \"lost\": " + (count - held) + "}");
        locks.stream().filter(RLock::isHeldByCurrentThread).forEach(RLock::unlock);
    }

    private void keep() throws Exception {
        openWithPairs(false, 1);
        peer.write(lockName(0)).lock();
        ready();
        Thread.sleep(Long.MAX_VALUE);
    }

    private void await() throws Exception {
        openWithPairs(false, 1);
        RLock lock = peer.write(lockName(0));
        ready();
        lock.lock();
        long at = Work.wallUs();
        lock.unlock();
        System.out.println("{\"at\": " + at + "}");
    }
}
