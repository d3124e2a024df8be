package shred

import (
	"bytes"
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

// Erased replaces texts of an erased subject. Other values become null, which Go decodes as the
// zero value.
const Erased = "[forgotten]"

// Errors of key stores.
var (
	// ErrErased is returned when appending an event with personal fields of an erased subject. A
	// person who returns is another subject.
	ErrErased = errors.New("shred: the subject was erased")
	// ErrNoSubject is returned for an event with personal fields that does not name its subject.
	ErrNoSubject = errors.New("shred: the event does not name the subject of its personal fields")
	// ErrUnreadable is returned when encrypted data cannot be decrypted although its subject was
	// not erased: it was changed or moved, or the master key is wrong.
	ErrUnreadable = errors.New("shred: the data cannot be decrypted with these keys")
)

// Options configures a KeyStore.
type Options struct {
	Masters  []Master      // the first encrypts; the others only decrypt, see KeyStore.Rewrap
	Personal []Personal    // personal fields by event type
	Keep     time.Duration // how long a key is cached, and an erased person stays readable in other processes; default a minute
	Keys     int           // cached keys; default 10,000

	Sleep func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer

	// Remake is called for each aggregate that an erased subject is in, after its snapshot was
	// deleted, to recompute other derived data such as read models. It may be called again after an
	// error.
	Remake func(eventstore.ID) error
}

// KeyStore manages the keys of subjects. It is safe for concurrent use.
type KeyStore struct {
	t       *table.Table
	o       Options
	masters map[string]cipher.AEAD
	keys    *lru.Cache[string, *key]
	links   *lru.Cache[LinkKey, bool]
	rules   rules
}

// New returns a KeyStore on a table of Schema. Errors: eventstore.ErrInvalid.
func New(t *table.Table, o Options) (*KeyStore, error) {
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
		return nil, fmt.Errorf("%w: a key store needs a master key, and Keep and Keys must not be negative", eventstore.ErrInvalid)
	}
	k := &KeyStore{t: t, o: o, masters: map[string]cipher.AEAD{}}
	for _, m := range o.Masters {
		aead, err := newAEAD(m.Key)
		if err != nil || m.ID == "" || k.masters[m.ID] != nil {
			return nil, fmt.Errorf("%w: master key %q: use a key of 32 bytes and a unique ID", eventstore.ErrInvalid, m.ID)
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

// Secrets returns the functions with which a Store seals and opens: eventstore.Options.Secrets.
func (k *KeyStore) Secrets() *eventstore.Secrets {
	return &eventstore.Secrets{Seal: k.seal, Open: k.open, Bare: bare, Tag: k.tag, SealState: k.sealState, OpenState: k.openState, SealSecret: k.sealSecret, OpenSecret: k.openSecret}
}

// Sealing returns functions that encrypt like those of Secrets, and decrypt nothing: for readers who
// may not see personal data. Events stay as stored, see Redact, and snapshots with personal data are
// ignored.
func (k *KeyStore) Sealing() *eventstore.Secrets {
	s := k.Secrets()
	s.Open = func(context.Context, *eventstore.Event) error { return nil }
	s.OpenState = func(_ context.Context, _ eventstore.ID, state eventstore.Payload) (eventstore.Payload, bool, error) {
		return state, !bytes.HasPrefix(state, []byte(stateMark)), nil
	}
	return s
}

// newAEAD returns AES-256-GCM with random nonces.
func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("a key must have 32 bytes, not %d", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
