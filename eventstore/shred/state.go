package shred

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// sealState seals a state with the keys of all subjects of the aggregate. ok is false if the state
// may contain data of a subject that was erased in the meantime, because its events were opened
// before every process knew.
func (k *KeyStore) sealState(ctx context.Context, id eventstore.ID, since time.Time, state eventstore.Payload) (eventstore.Payload, bool, error) {
	var s sealedState
	var keys []*key
	for link, err := range SubjectsOf.All(ctx, k.t, id) {
		if err != nil {
			return nil, false, fmt.Errorf("shred: subjects of %s: %w", id, err)
		}
		by, err := k.find(ctx, link.Subject)
		if err != nil {
			return nil, false, fmt.Errorf("shred: key of a subject of %s: %w", id, err)
		}
		if by.AEAD == nil {
			if !since.After(by.erased.Add(2 * k.o.Keep)) {
				return nil, false, nil
			}
			continue
		}
		s.By, keys = append(s.By, link.Subject), append(keys, by)
	}
	if len(keys) == 0 {
		return state, true, nil
	}
	s.Key = make([]byte, 32)
	if _, err := rand.Read(s.Key); err != nil {
		return nil, false, fmt.Errorf("shred: make a key: %w", err)
	}
	own, err := newAEAD(s.Key)
	if err != nil {
		return nil, false, err
	}
	s.Data = own.Seal(nil, nil, state, bind("state", id.Type, id.ID))
	for i, by := range keys {
		s.Key = by.Seal(nil, nil, s.Key, bind("state key", id.Type, id.ID, s.By[i]))
	}
	sealed, err := s.payload()
	return sealed, err == nil, err
}

// openState opens a state. ok is false if one of its subjects was erased.
func (k *KeyStore) openState(ctx context.Context, id eventstore.ID, state eventstore.Payload) (eventstore.Payload, bool, error) {
	rest, ok := bytes.CutPrefix(state, []byte(stateMark))
	if !ok {
		return state, true, nil
	}
	var s sealedState
	b, err := base64.StdEncoding.AppendDecode(nil, rest)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for _, who := range slices.Backward(s.By) {
		by, err := k.find(ctx, who)
		if errors.Is(err, table.ErrNotFound) || err == nil && by.AEAD == nil {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if s.Key, err = by.Open(nil, nil, s.Key, bind("state key", id.Type, id.ID, who)); err != nil {
			return nil, false, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
	own, err := newAEAD(s.Key)
	if err == nil {
		state, err = own.Open(nil, nil, s.Data, bind("state", id.Type, id.ID))
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return state, true, nil
}
