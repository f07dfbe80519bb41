package drive

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// run is one call of a driver: its peer, connected, and the lease that it was given.
type run struct {
	peer  Peer
	lease time.Duration
}

// warm makes the package open its connections and load its scripts, with locks that no other process uses.
func (r run) warm(threads int) {
	each(min(threads, 64), func(i int) {
		l := r.peer.New("w" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(i))
		for range 3 {
			must(l.Lock(context.Background(), Write))
			must(l.Unlock())
		}
	})
}

func (r run) pairs(mode Mode, threads int, length time.Duration) any {
	locks := make([]Lock, threads)
	for i := range locks {
		locks[i] = r.peer.New(strconv.Itoa(i))
	}
	r.warm(threads)
	ready()
	return measure(locks, mode, length)
}

// measure has every lock locked and unlocked over and over, each by a goroutine of its own.
func measure(locks []Lock, mode Mode, length time.Duration) summary {
	samples := make([][]time.Duration, len(locks))
	start := time.Now()
	each(len(locks), func(i int) {
		mine := make([]time.Duration, 0, 1<<14)
		for from := time.Now(); from.Sub(start) < length; {
			must(locks[i].Lock(context.Background(), mode))
			must(locks[i].Unlock())
			to := time.Now()
			mine = append(mine, to.Sub(from))
			from = to
		}
		samples[i] = mine
	})
	return summarize(samples, time.Since(start))
}

// A grant is [at, thread, wait, mode].
type grant [4]int64

type contention struct {
	Seconds float64 `json:"seconds"`
	Grants  []grant `json:"grants"`
}

func (r run) contend(threads int, hold time.Duration, reads float64, length time.Duration) any {
	locks := make([]Lock, threads)
	for i := range locks {
		locks[i] = r.peer.New("0")
	}
	r.warm(threads)
	ready()

	// Those that wait at the end may go on for as long again, so that no package is measured while its
	// waiters are being cancelled.
	ctx, cancel := context.WithCancel(context.Background())
	defer time.AfterFunc(2*length, cancel).Stop()
	grants := make([][]grant, threads)
	end := time.Now().Add(length)
	each(threads, func(i int) {
		for from := time.Now(); from.Before(end); from = time.Now() {
			mode := Write
			if reads > 0 && rand.Float64()*100 < reads {
				mode = Read
			}
			if err := locks[i].Lock(ctx, mode); ctx.Err() != nil {
				// Done while it waited, or just as it got the lock: then it is given back.
				if err == nil {
					_ = locks[i].Unlock()
				}
				return
			} else {
				must(err)
			}
			at := time.Now()
			if !at.After(end) {
				grants[i] = append(grants[i], grant{at.UnixMicro(), int64(i), at.Sub(from).Microseconds(), int64(mode)})
			}
			if hold > 0 {
				time.Sleep(hold)
			}
			must(locks[i].Unlock())
		}
	})
	all := slices.Concat(grants...)
	if all == nil {
		all = []grant{}
	}
	slices.SortFunc(all, func(a, b grant) int { return int(a[0] - b[0]) })
	return contention{length.Seconds(), all}
}

func (r run) readers(count int, length time.Duration) any {
	held := r.lockAndTend(count, Read, func(int) string { return "0" })
	one := r.peer.New("0")
	must(one.Lock(context.Background(), Read))
	must(one.Unlock())
	ready()
	result := measure([]Lock{one}, Read, length)
	held.release()
	return result
}

func (r run) hold(count int, length time.Duration) any {
	held := r.lockAndTend(count, Write, strconv.Itoa)
	ready()
	time.Sleep(length)
	lost := held.release()
	return struct {
		Held int `json:"held"`
		Lost int `json:"lost"`
	}{count - lost, lost}
}

func (r run) keep() any {
	r.lockAndTend(1, Write, strconv.Itoa)
	sayReady()
	select {} // until it is killed
}

func (r run) await() any {
	l := r.peer.New("0")
	r.warm(1)
	sayReady()
	must(l.Lock(context.Background(), Write))
	at := time.Now()
	must(l.Unlock())
	return struct {
		At int64 `json:"at"`
	}{at.UnixMicro()}
}

// each calls do for 0 to n-1, all at the same time, and waits for them.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}
