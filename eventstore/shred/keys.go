package shred

import (
	"context"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

var (
	subjectWrapped = table.FieldOf(Subjects, func(s *Subject) *[]byte { return &s.Wrapped })
	subjectMaster  = table.FieldOf(Subjects, func(s *Subject) *string { return &s.Master })
)

// key is a subject's key when it was read.
type key struct {
	cipher.AEAD        // nil: erased
	tags        []byte // derived from the key, for KeyStore.tag
	erased      time.Time
	read        time.Time
}

// find returns the key of a subject, from the cache if it is recent enough. Errors:
// table.ErrNotFound.
func (k *KeyStore) find(ctx context.Context, subject string) (*key, error) {
	now := k.t.Now()
	if known, ok := k.keys.Get(subject); ok && (known.AEAD == nil || now.Sub(known.read) < k.o.Keep && !now.Before(known.read)) {
		return known, nil
	}
	s, err := SubjectByID.Get(ctx, k.t, SubjectKey{subject})
	if err != nil {
		return nil, err
	}
	return k.remember(&s, now)
}

func (k *KeyStore) remember(s *Subject, now time.Time) (*key, error) {
	found := &key{erased: s.Erased, read: now}
	if len(s.Wrapped) > 0 {
		data, err := k.unwrap(s)
		if err != nil {
			return nil, err
		}
		if found.AEAD, err = newAEAD(data); err != nil {
			return nil, fmt.Errorf("%w: the key of %q", ErrUnreadable, s.Subject)
		}
		tags := hmac.New(sha256.New, data)
		tags.Write(bind("tags"))
		found.tags = tags.Sum(nil)
	}
	k.keys.Add(s.Subject, found)
	return found, nil
}

// make returns the key of a subject, and creates it if necessary. Errors: ErrErased.
func (k *KeyStore) make(ctx context.Context, subject string) (*key, error) {
	found, err := k.find(ctx, subject)
	if errors.Is(err, table.ErrNotFound) {
		found, err = k.create(ctx, subject)
	}
	if err == nil && found.AEAD == nil {
		err = fmt.Errorf("%w: %q, at %s", ErrErased, subject, found.erased.Format(time.RFC3339))
	}
	return found, err
}

func (k *KeyStore) create(ctx context.Context, subject string) (*key, error) {
	data := make([]byte, 32)
	if _, err := rand.Read(data); err != nil {
		return nil, fmt.Errorf("shred: make a key: %w", err)
	}
	now := k.t.Now().UTC()
	s := Subject{SubjectKey: SubjectKey{subject}, Shard: table.Shard(subject, subjectShards), CreatedAt: now}
	k.wrap(&s, data)
	err := Subjects.Create(ctx, k.t, &s)
	if errors.Is(err, table.ErrExists) { // somebody else was faster, or an earlier attempt succeeded
		return k.find(ctx, subject)
	}
	if err != nil {
		return nil, fmt.Errorf("shred: keep the key of a subject: %w", err)
	}
	return k.remember(&s, now)
}

// wrap encrypts a subject's key with the first master key.
func (k *KeyStore) wrap(s *Subject, data []byte) {
	s.Master = k.o.Masters[0].ID
	s.Wrapped = k.masters[s.Master].Seal(nil, nil, data, s.binding())
}

func (k *KeyStore) unwrap(s *Subject) ([]byte, error) {
	master := k.masters[s.Master]
	if master == nil {
		return nil, fmt.Errorf("%w: the key of %q is encrypted with master key %q, which is not configured", ErrUnreadable, s.Subject, s.Master)
	}
	data, err := master.Open(nil, nil, s.Wrapped, s.binding())
	if err != nil {
		return nil, fmt.Errorf("%w: the key of %q cannot be decrypted with master key %q", ErrUnreadable, s.Subject, s.Master)
	}
	return data, nil
}

// binding returns the additional data that ties a key to its subject and master.
func (s *Subject) binding() []byte { return bind("key", s.Subject, s.Master) }

// sealSecret encrypts the table's secret with the first master key.
func (k *KeyStore) sealSecret(_ context.Context, secret []byte) (wrapped []byte, master string, err error) {
	master = k.o.Masters[0].ID
	return k.masters[master].Seal(nil, nil, secret, bind("secret", master)), master, nil
}

// openSecret decrypts the table's secret. Errors: ErrUnreadable.
func (k *KeyStore) openSecret(_ context.Context, wrapped []byte, master string) ([]byte, error) {
	aead := k.masters[master]
	if aead == nil {
		return nil, fmt.Errorf("%w: the secret of the table is encrypted with master key %q, which is not configured", ErrUnreadable, master)
	}
	secret, err := aead.Open(nil, nil, wrapped, bind("secret", master))
	if err != nil {
		return nil, fmt.Errorf("%w: the secret of the table cannot be decrypted with master key %q", ErrUnreadable, master)
	}
	return secret, nil
}

// Rewrap encrypts the keys of all subjects, and the table's secret, with the first master key, if
// they use another. After it returns without error, the other master keys are no longer needed,
// except for keys created in the meantime by processes whose first master is another. It returns
// the number of rewrapped keys. Errors: ErrMaster.
func (k *KeyStore) Rewrap(ctx context.Context) (n int, err error) {
	if err := k.Verify(ctx); err != nil {
		return 0, err
	}
	if err := k.rewrapSecret(ctx); err != nil {
		return 0, fmt.Errorf("shred: rewrap: %w", err)
	}
	for {
		more, err := k.rewrapSubjects(ctx)
		if n += more; err != nil {
			return n, fmt.Errorf("shred: rewrap: %w", err)
		}
		if more == 0 {
			break
		}
	}
	if err := k.retire(ctx); err != nil {
		return n, fmt.Errorf("shred: rewrap: %w", err)
	}
	return n, nil
}

// rewrapSubjects reads all subjects once.
func (k *KeyStore) rewrapSubjects(ctx context.Context) (n int, err error) {
	for s, err := range EverySubject.All(ctx, k.t, EveryIn{}) {
		if err != nil {
			return n, err
		}
		was := s.Master
		if was == k.o.Masters[0].ID || len(s.Wrapped) == 0 {
			continue
		}
		data, err := k.unwrap(&s)
		if err != nil {
			return n, err
		}
		k.wrap(&s, data)
		_, err = Subjects.Patch(ctx, k.t, s.SubjectKey, subjectWrapped.Set(s.Wrapped), subjectMaster.Set(s.Master), table.If[Subject](subjectMaster.Eq(was)))
		if errors.Is(err, table.ErrCondition) { // erased, or already rewrapped
			continue
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (k *KeyStore) rewrapSecret(ctx context.Context) error {
	_, err := eventstore.TableRules.Modify(ctx, k.t, eventstore.RulesKey{}, func(r *eventstore.Rules) error {
		if len(r.Wrapped) == 0 || r.Master == k.o.Masters[0].ID {
			return nil
		}
		secret, err := k.openSecret(ctx, r.Wrapped, r.Master)
		if err == nil {
			r.Wrapped, r.Master, err = k.sealSecret(ctx, secret)
		}
		return err
	})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// join records that a subject is in an aggregate, before an event is stored.
func (k *KeyStore) join(ctx context.Context, subject string, id eventstore.ID) error {
	link := Link{LinkKey{subject, id}}
	if k.links.Contains(link.LinkKey) {
		return nil
	}
	err := Links.Put(ctx, k.t, &link)
	if err == nil {
		err = Backlinks.Put(ctx, k.t, &link)
	}
	if err != nil {
		return fmt.Errorf("shred: note a subject of %s: %w", id, err)
	}
	k.links.Add(link.LinkKey, true)
	return nil
}
