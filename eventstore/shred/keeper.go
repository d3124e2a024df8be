package shred

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Forgotten is what readers find in the place of a text whose subject was forgotten. In the place of anything else they find
// null, which Go decodes as nothing.
const Forgotten = "[forgotten]"

// Errors.
var (
	// ErrForgotten is returned when an event would be appended with personal fields of a subject who was forgotten. A person
	// who comes back is another subject.
	ErrForgotten = errors.New("shred: the subject was forgotten")
	// ErrNoSubject is returned when an event has personal fields and does not say whose they are.
	ErrNoSubject = errors.New("shred: the event does not say whom its personal fields are about")
	// ErrUnreadable is returned when what is encrypted cannot be decrypted though its subject was not forgotten: it was
	// changed or moved, or the master key is another one.
	ErrUnreadable = errors.New("shred: this was not encrypted here, with these keys")
)

// Master is a key that encrypts the keys of subjects, so that the table alone tells nothing. It is never stored.
type Master struct {
	ID  string // such as the year; stored with what it encrypts
	Key []byte // 32 bytes, secret
}

// Options configure a Keeper.
type Options struct {
	Masters  []Master      // the first encrypts, the others are for what they have encrypted before; see Keeper.Rewrap
	Personal []Personal    // what is personal in which events
	Keep     time.Duration // how long a key is remembered, and what another process has forgotten still read; default a minute
	Keys     int           // how many are remembered; default 10,000

	Sleep func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer

	// Remake is told of each aggregate that a forgotten subject is in, after its snapshot was deleted, to make again what
	// else was derived from it, such as read models. It may be called again after an error.
	Remake func(eventstore.ID) error
}

// Keeper keeps the keys of subjects. It is safe for concurrent use.
type Keeper struct {
	t       *table.Table
	o       Options
	masters map[string]cipher.AEAD
	keys    *lru.Cache[string, *key]
	links   *lru.Cache[LinkKey, bool]
	rules   rules
}

// New makes a Keeper on a table of Schema. Errors: eventstore.ErrInvalid.
func New(t *table.Table, o Options) (*Keeper, error) {
	if o.Keep == 0 {
		o.Keep = time.Minute
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	if o.Keys == 0 {
		o.Keys = 10_000
	}
	if len(o.Masters) == 0 || o.Keep < 0 || o.Keys < 0 {
		return nil, fmt.Errorf("%w: a keeper needs a master key, and numbers that are not negative", eventstore.ErrInvalid)
	}
	k := &Keeper{t: t, o: o, masters: map[string]cipher.AEAD{}}
	for _, m := range o.Masters {
		aead, err := newAEAD(m.Key)
		if err != nil || m.ID == "" || k.masters[m.ID] != nil {
			return nil, fmt.Errorf("%w: master %q: a key has 32 bytes and an id of its own", eventstore.ErrInvalid, m.ID)
		}
		k.masters[m.ID] = aead
	}
	for _, p := range o.Personal {
		if _, err := p.compile(); err != nil {
			return nil, err
		}
	}
	var err error
	if k.keys, err = lru.New[string, *key](o.Keys); err != nil {
		return nil, fmt.Errorf("shred: %w", err)
	}
	if k.links, err = lru.New[LinkKey, bool](o.Keys); err != nil {
		return nil, fmt.Errorf("shred: %w", err)
	}
	return k, nil
}

// Secrets is what a Store needs to seal and open: eventstore.Options.Secrets.
func (k *Keeper) Secrets() *eventstore.Secrets {
	return &eventstore.Secrets{Seal: k.seal, Open: k.open, Bare: bare, Tag: k.tag, SealState: k.sealState, OpenState: k.openState, SealSecret: k.sealSecret, OpenSecret: k.openSecret}
}

// newAEAD is AES-256-GCM.
func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("a key has 32 bytes, not %d", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
