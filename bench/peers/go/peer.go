// Package drive makes one lock do what bench/peers/README.md asks of every driver. This file is what a peer
// has to bring; the package knows no peer, and no peer knows a verb.
package drive

import (
	"context"
	"errors"
	"time"
)

// ErrLost is what Renew and Unlock return when the server says that the lock is no longer this owner's.
var ErrLost = errors.New("the lock was lost")

// Mode is how a lock is locked; its value is the one that grants are printed with.
type Mode int

const (
	Read  Mode = 0
	Write Mode = 1
)

// About is what `drive about` prints, but for the version: that is the one which Module was built with.
type About struct {
	Name, Module, URL string
	Reads             bool
	Setting           string
}

// Place is where a peer finds its server, and what it may name there.
type Place struct {
	Socket string
	Prefix string // every key begins with it: lock i is Prefix:i
	Lease  time.Duration
}

// Peer is a package under test, connected.
type Peer interface {
	// New returns lock number id as one owner sees it. It is used by one goroutine at a time.
	New(id string) Lock
}

// Lock is one owner's side of one lock. Only a locked one is unlocked, and only then it is locked again.
type Lock interface {
	// Lock waits until the lock is got or ctx is done. ctx has no deadline: some packages take a deadline
	// for the end of the lease. It may be done while the lock is held, and the lock may then be lost.
	Lock(ctx context.Context, mode Mode) error
	Unlock() error
}

// Renewer is a Lock that must be renewed by a call.
type Renewer interface {
	// Renew gives the lock a whole lease again. ErrLost is final, any other error is not.
	Renew() error
}

// Keeper is a Lock whose package renews by itself.
type Keeper interface {
	// Lost is done when the package has found the lock lost; it is asked for while the lock is held.
	Lost() <-chan struct{}
}
