// Drives e-chip/redis-rwlock over go-redis. It renews by itself, every half of a lease, and tells nobody when it
// lost a lock before the end of it. Written from its documentation, and never run: the module proxy refused it.
package main

import (
	"context"
	"errors"
	"math"
	"sync"

	rwlock "github.com/e-chip/redis-rwlock/v2"
	"github.com/redis/go-redis/v9"
	"latchkey.test/bench/peers/drive"
)

var about = drive.About{
	Name:    "e-chip/redis-rwlock",
	Module:  "github.com/e-chip/redis-rwlock/v2",
	URL:     "https://github.com/e-chip/redis-rwlock",
	Reads:   true,
	Setting: "retries every 10 ms, as by default; retries without bound",
}

// client is the one method that the package asks of a Redis client; a script is sent whole only once.
type client struct {
	redis   *redis.Client
	scripts *sync.Map
}

func (c client) Eval(ctx context.Context, text string, keys []string, args ...any) (int64, error) {
	script, ok := c.scripts.Load(text)
	if !ok {
		script, _ = c.scripts.LoadOrStore(text, redis.NewScript(text))
	}
	return script.(*redis.Script).Run(ctx, c.redis, keys, args...).Int64()
}

type peer struct {
	client client
	place  drive.Place
}

// lock is a Locker of its own: a Locker is one writer. The package has a lock held for as long as a function
// runs, so that function tells that it was called, and waits until it is to end.
type lock struct {
	locker rwlock.Locker
	unlock chan struct{}
	done   chan error
}

func open(p drive.Place) (drive.Peer, error) {
	return peer{client{redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket}), &sync.Map{}}, p}, nil
}

func (p peer) New(id string) drive.Lock {
	locker, err := rwlock.New(p.client, p.place.Prefix+":"+id,
		rwlock.Options{LockTTL: p.place.Lease, RetryCount: math.MaxInt})
	if err != nil {
		panic(err)
	}
	return &lock{locker: locker}
}

func (l *lock) Lock(ctx context.Context, mode drive.Mode) error {
	run := l.locker.Write
	if mode == drive.Read {
		run = l.locker.Read
	}
	got, unlock, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- run(ctx, func(context.Context) error {
			close(got)
			<-unlock
			return nil
		})
	}()
	select {
	case <-got:
		l.unlock, l.done = unlock, done
		return nil
	case err := <-done:
		return err
	}
}

func (l *lock) Unlock() error {
	close(l.unlock)
	if err := <-l.done; !errors.Is(err, rwlock.ErrNotReleased) {
		return err
	}
	return drive.ErrLost
}

func main() { drive.Main(about, open) }
