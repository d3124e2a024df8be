package shred

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// ErrMaster is returned by a key store whose master keys do not fit the table: one that is in use is
// missing, or differs. Nothing was stored.
var ErrMaster = errors.New("shred: the master keys are not those of the table")

// Master is a master key, which encrypts the keys of subjects. It is never stored, so the table
// alone reveals nothing.
type Master struct {
	ID  string // such as the year; stored with what it encrypts
	Key []byte // 32 bytes, secret
}

// NewMaster generates a master key. Its ID has the day and a random part.
func NewMaster(now time.Time) (Master, error) {
	random := make([]byte, 32+3)
	if _, err := rand.Read(random); err != nil {
		return Master{}, fmt.Errorf("shred: make a master key: %w", err)
	}
	return Master{ID: now.UTC().Format("20060102") + "-" + hex.EncodeToString(random[32:]), Key: random[:32]}, nil
}

// Line returns a master key as text, secret: ID:KEY, with the key in hexadecimal.
func (m Master) Line() string { return m.ID + ":" + hex.EncodeToString(m.Key) }

const (
	maxMasters  = 20
	maxMasterID = 64 // bytes
)

// ParseMasters parses master keys, one line each as from Master.Line. The first encrypts. It skips
// empty lines, and comments that begin with #. Errors: eventstore.ErrInvalid, without the keys.
func ParseMasters(text string) (all []Master, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		id, digits, _ := strings.Cut(line, ":")
		key, err := hex.DecodeString(digits)
		if err != nil || len(key) != 32 || id == "" || len(id) > maxMasterID {
			return nil, fmt.Errorf("%w: master keys, line %d: use ID:KEY, with an ID of 1 to %d bytes and a key of 64 hexadecimal digits", eventstore.ErrInvalid, n, maxMasterID)
		}
		if all = append(all, Master{id, key}); len(all) > maxMasters {
			return nil, fmt.Errorf("%w: more than %d master keys", eventstore.ErrInvalid, maxMasters)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: there is no master key", eventstore.ErrInvalid)
	}
	return all, nil
}

// MastersKey is the key of the only item with the master keys in use.
type MastersKey struct{}

// Masters lists the master keys that encrypt something in the table.
type Masters struct {
	MastersKey
	InUse []MasterCheck `dynamodbav:"inUse"`
}

// MasterCheck identifies a master key without revealing it.
type MasterCheck struct {
	ID    string    `dynamodbav:"id"`
	Check []byte    `dynamodbav:"check"` // a known text, encrypted with the key
	Since time.Time `dynamodbav:"since"`
}

// MastersInUse holds the list of master keys.
var MastersInUse = table.Define[Masters, MastersKey]("eventstore.masters", table.Def[Masters]{
	PK: "EVENT_STORE", SK: "#MASTERS", Access: table.Access{Ingest: table.Rights{Reads: table.Whole}},
	Doc: "The master keys that the keys of persons are encrypted with, by name and checksum.",
})

// MastersNow reads the list of master keys.
var MastersNow = table.NewGet[MastersKey](MastersInUse, table.GetDef{
	ID: "E35", Question: "the master keys in use", Load: table.Load{PerSecond: 0.001, Items: 1, ItemBytes: 200},
})

// Verify checks that the key store has all master keys that are in use in the table, and records that
// it uses its first one. The first append with personal fields does so, too. Errors: ErrMaster, those
// of the store.
func (k *KeyStore) Verify(ctx context.Context) error {
	for range maxVerifyTries {
		m, err := MastersNow.Get(ctx, k.t, MastersKey{})
		switch {
		case errors.Is(err, table.ErrNotFound):
			if err = k.fits(ctx); err == nil {
				err = k.use(&m)
			}
			if err == nil {
				if err = MastersInUse.Create(ctx, k.t, &m); errors.Is(err, table.ErrExists) {
					continue // another key store was faster
				}
			}
		case err == nil && !k.uses(&m):
			_, err = MastersInUse.Modify(ctx, k.t, MastersKey{}, k.use)
		case err == nil:
			err = k.check(&m)
		}
		if err != nil {
			return fmt.Errorf("shred: verify the master keys: %w", err)
		}
		return nil
	}
	return fmt.Errorf("shred: verify the master keys: %w", eventstore.ErrBusy)
}

const maxVerifyTries = 5

// uses reports whether the list has the key store's first master key.
func (k *KeyStore) uses(m *Masters) bool {
	return slices.ContainsFunc(m.InUse, func(c MasterCheck) bool { return c.ID == k.o.Masters[0].ID })
}

// use adds the key store's first master key to the list, unless other keys of the list are missing.
func (k *KeyStore) use(m *Masters) error {
	if err := k.check(m); err != nil || k.uses(m) {
		return err
	}
	id := k.o.Masters[0].ID
	m.InUse = append(m.InUse, MasterCheck{id, k.masters[id].Seal(nil, nil, []byte(masterText), bind("master", id)), k.t.Now().UTC()})
	return nil
}

const masterText = "onefold"

// check returns ErrMaster unless the key store has all keys of the list.
func (k *KeyStore) check(m *Masters) error {
	for _, c := range m.InUse {
		aead := k.masters[c.ID]
		if aead == nil {
			return fmt.Errorf("%w: master key %q is in use, and is not configured", ErrMaster, c.ID)
		}
		if _, err := aead.Open(nil, nil, c.Check, bind("master", c.ID)); err != nil {
			return fmt.Errorf("%w: another master key with the name %q is in use", ErrMaster, c.ID)
		}
	}
	return nil
}

// fits checks the master keys against what is stored, for a table that has no list yet.
func (k *KeyStore) fits(ctx context.Context) error {
	rules, err := eventstore.RulesNow.Get(ctx, k.t, eventstore.RulesKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	if len(rules.Wrapped) > 0 {
		if _, err := k.openSecret(ctx, rules.Wrapped, rules.Master); err != nil {
			return fmt.Errorf("%w: %w", ErrMaster, err)
		}
	}
	for s, err := range EverySubject.All(ctx, k.t, EveryIn{}) {
		if err != nil {
			return err
		}
		if len(s.Wrapped) == 0 {
			continue
		}
		if _, err := k.unwrap(&s); err != nil {
			return fmt.Errorf("%w: %w", ErrMaster, err)
		}
		return nil // one person suffices
	}
	return nil
}

// retire removes all master keys but the first from the list.
func (k *KeyStore) retire(ctx context.Context) error {
	_, err := MastersInUse.Modify(ctx, k.t, MastersKey{}, func(m *Masters) error {
		if err := k.use(m); err != nil {
			return err
		}
		m.InUse = slices.DeleteFunc(m.InUse, func(c MasterCheck) bool { return c.ID != k.o.Masters[0].ID })
		return nil
	})
	return err
}
