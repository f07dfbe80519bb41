package drive

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// tended are locks that are held and kept: renewed by their package, or by its call every third of a lease.
type tended struct {
	locks []Lock
	gone  []atomic.Bool
	stop  chan struct{}
	all   sync.WaitGroup
}

// lockAndTend locks count locks, each as an owner of its own; each is kept from the moment it is got.
func (r run) lockAndTend(count int, mode Mode, id func(int) string) *tended {
	t := &tended{make([]Lock, count), make([]atomic.Bool, count), make(chan struct{}), sync.WaitGroup{}}
	for i := range t.locks {
		t.locks[i] = r.peer.New(id(i))
		must(t.locks[i].Lock(context.Background(), mode))
		switch l := t.locks[i].(type) {
		case Renewer:
			t.all.Go(func() { t.renew(i, l, r.lease) })
		case Keeper:
			t.all.Go(func() { t.watch(i, l) })
		}
	}
	return t
}

func (t *tended) renew(i int, l Renewer, lease time.Duration) {
	tick := time.NewTicker(lease / 3)
	defer tick.Stop()
	for until := time.Now().Add(lease); ; {
		select {
		case <-t.stop:
			return
		case from := <-tick.C:
			if err := l.Renew(); err == nil {
				until = from.Add(lease)
			} else if errors.Is(err, ErrLost) || time.Now().After(until) {
				complain(err)
				t.gone[i].Store(true)
				return
			}
		}
	}
}

func (t *tended) watch(i int, l Keeper) {
	select {
	case <-t.stop:
	case <-l.Lost():
		t.gone[i].Store(true)
	}
}

// release unlocks what is still held, and returns how many locks were lost.
func (t *tended) release() (lost int) {
	close(t.stop)
	t.all.Wait()
	for i, l := range t.locks {
		if t.gone[i].Load() {
			lost++
		} else if err := l.Unlock(); errors.Is(err, ErrLost) {
			lost++
		} else {
			must(err)
		}
	}
	return lost
}
