package shred

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// sealedName is the metadata entry that lists the sealed fields of an event. It exists only in the
// table.
const sealedName = "$sealed"

// contents lists the sealed parts of an event, in the order of sealing.
type contents struct {
	Fields   []string `json:"fields,omitempty"`
	Metadata []string `json:"metadata,omitempty"`
}

// box replaces a sealed value.
type box struct {
	Data []byte `json:"$sealed"` // nonce, then the encrypted JSON of the value
	By   string `json:"by"`      // subject whose key it is
	As   string `json:"as"`      // text, or other
}

const (
	asText  = "text"
	asOther = "other"
)

// seal seals the personal fields of an append's events.
func (k *KeyStore) seal(ctx context.Context, events []eventstore.Event) error {
	personal, err := k.personal(ctx, func(eventType string) bool {
		return slices.ContainsFunc(events, func(e eventstore.Event) bool { return e.EventType == eventType })
	})
	if err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if _, ok := e.Metadata[sealedName]; ok {
			return fmt.Errorf("%w: metadata name %s is reserved", eventstore.ErrInvalid, sealedName)
		}
		var all contents
		for _, r := range personal[e.EventType] {
			if err := k.sealBy(ctx, e, r, &all); err != nil {
				return fmt.Errorf("shred: event type %q: %w", e.EventType, err)
			}
		}
		if len(all.Fields)+len(all.Metadata) == 0 {
			continue
		}
		list, err := json.Marshal(all)
		if err != nil {
			return fmt.Errorf("shred: %w", err)
		}
		setMetadata(e, sealedName, string(list))
	}
	return nil
}

// setMetadata sets an entry of an event's metadata in a copy of the map, because the original is
// the caller's.
func setMetadata(e *eventstore.Event, name, value string) {
	if e.Metadata = maps.Clone(e.Metadata); e.Metadata == nil {
		e.Metadata = map[string]string{}
	}
	e.Metadata[name] = value
}

// sealBy seals the fields of one rule.
func (k *KeyStore) sealBy(ctx context.Context, e *eventstore.Event, r rule, all *contents) error {
	var by *subject // set once there is something to seal
	seal := func(at string, value json.RawMessage) (json.RawMessage, error) {
		if by == nil {
			var err error
			if by, err = k.subjectOf(ctx, e, r); err != nil {
				return nil, err
			}
		}
		b := box{By: by.id, As: asOther, Data: by.key.Seal(nil, nil, value, binding(e, by.id, at))}
		if value[0] == '"' {
			b.As = asText
		}
		return json.Marshal(b)
	}
	for _, path := range r.fields {
		was := by
		changed, err := change(json.RawMessage(e.Payload), path, "", seal)
		if err != nil {
			return err
		}
		if by == nil && was == nil {
			continue // the field is missing
		}
		e.Payload = eventstore.Payload(changed)
		all.Fields = append(all.Fields, strings.Join(path, "."))
	}
	for _, name := range r.metadata {
		value, ok := e.Metadata[name]
		if !ok {
			continue
		}
		plain, err := json.Marshal(value)
		if err != nil {
			return err
		}
		b, err := seal(metadataPlace(name), plain)
		if err != nil {
			return err
		}
		setMetadata(e, name, string(b))
		all.Metadata = append(all.Metadata, name)
	}
	return nil
}

func metadataPlace(name string) string { return "metadata " + name }

// subject is a person and their key.
type subject struct {
	id  string
	key *key
}

// subjectOf returns the subject of an event, and links it to the aggregate.
func (k *KeyStore) subjectOf(ctx context.Context, e *eventstore.Event, r rule) (*subject, error) {
	id := ""
	_, err := change(json.RawMessage(e.Payload), r.subject, "", func(_ string, value json.RawMessage) (json.RawMessage, error) {
		if err := json.Unmarshal(value, &id); err != nil {
			id = string(value) // a number
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	if id == "" || strings.ContainsAny(id, "#{[") || len(id) > maxSubject {
		return nil, fmt.Errorf("%w: field %s must have an ID of 1 to %d bytes without '#'", ErrNoSubject, strings.Join(r.subject, "."), maxSubject)
	}
	found, err := k.make(ctx, id)
	if err != nil {
		return nil, err
	}
	return &subject{id, found}, k.join(ctx, id, e.EventKey.ID)
}

const maxSubject = 256

// open opens the sealed parts of an event.
func (k *KeyStore) open(ctx context.Context, e *eventstore.Event) error {
	return unseal(e, func(at string, value json.RawMessage) (json.RawMessage, error) {
		plain, _, err := k.openBox(ctx, e, at, value)
		return plain, err
	})
}

// unseal replaces each box of a sealed event with the result of open.
func unseal(e *eventstore.Event, open func(at string, value json.RawMessage) (json.RawMessage, error)) error {
	list, ok := e.Metadata[sealedName]
	if !ok {
		return nil
	}
	var all contents
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		return fmt.Errorf("%w: %q", ErrUnreadable, list)
	}
	if e.Metadata = maps.Clone(e.Metadata); len(e.Metadata) == 1 {
		e.Metadata = nil
	}
	delete(e.Metadata, sealedName)
	for _, path := range slices.Backward(all.Fields) {
		changed, err := change(json.RawMessage(e.Payload), strings.Split(path, "."), "", open)
		if err != nil && !errors.Is(err, errShape) {
			return err
		}
		if err == nil {
			e.Payload = eventstore.Payload(changed)
		}
	}
	for _, name := range all.Metadata {
		plain, err := open(metadataPlace(name), json.RawMessage(e.Metadata[name]))
		if err != nil {
			return err
		}
		text := ""
		if err := json.Unmarshal(plain, &text); err != nil {
			return fmt.Errorf("%w: metadata %q: %w", ErrUnreadable, name, err)
		}
		e.Metadata[name] = text
	}
	return nil
}

// tag returns a hash of the sealed values of an event, each keyed by its person. ok is false if one
// of them was erased.
func (k *KeyStore) tag(ctx context.Context, e *eventstore.Event) (tag []byte, ok bool, err error) {
	h, opened := sha256.New(), *e
	ok = true
	err = unseal(&opened, func(at string, value json.RawMessage) (json.RawMessage, error) {
		plain, by, err := k.openBox(ctx, e, at, value)
		if err != nil {
			return nil, err
		}
		if by.AEAD == nil {
			ok = false
			return plain, nil
		}
		one := hmac.New(sha256.New, by.tags)
		one.Write(bind("again", e.Type, e.EventKey.ID.ID, e.CommitID, strconv.Itoa(e.Nth), at, string(plain)))
		tag = one.Sum(tag[:0])
		h.Write(tag)
		return plain, nil
	})
	if err != nil || !ok || tag == nil {
		return nil, ok, err
	}
	return h.Sum(nil), true, nil
}

// bare empties the boxes of a sealed event.
func bare(e *eventstore.Event) error {
	var all contents
	list, ok := e.Metadata[sealedName]
	if !ok {
		return nil
	}
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		return fmt.Errorf("%w: %q", ErrUnreadable, list)
	}
	empty := func(_ string, value json.RawMessage) (json.RawMessage, error) {
		var b box
		if err := json.Unmarshal(value, &b); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		b.Data = nil
		return json.Marshal(b)
	}
	for _, path := range all.Fields {
		changed, err := change(json.RawMessage(e.Payload), strings.Split(path, "."), "", empty)
		if err != nil {
			return err
		}
		e.Payload = eventstore.Payload(changed)
	}
	for _, name := range all.Metadata {
		changed, err := empty("", json.RawMessage(e.Metadata[name]))
		if err != nil {
			return err
		}
		setMetadata(e, name, string(changed))
	}
	return nil
}

// openBox opens a value and returns the key that it used, or returns the placeholder.
func (k *KeyStore) openBox(ctx context.Context, e *eventstore.Event, at string, value json.RawMessage) (json.RawMessage, *key, error) {
	var b box
	if err := json.Unmarshal(value, &b); err != nil || len(b.Data) == 0 {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnreadable, at)
	}
	by, err := k.find(ctx, b.By)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil, nil, fmt.Errorf("%w: there is no key for %q", ErrUnreadable, b.By)
	case err != nil:
		return nil, nil, err
	case by.AEAD == nil && b.As == asText:
		return json.RawMessage(strconv.Quote(Erased)), by, nil
	case by.AEAD == nil:
		return json.RawMessage("null"), by, nil
	}
	plain, err := by.Open(nil, nil, b.Data, binding(e, b.By, at))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnreadable, at)
	}
	return plain, by, nil
}

// binding returns the additional data that ties a value to its place: it cannot be decrypted
// elsewhere.
func binding(e *eventstore.Event, by, at string) []byte {
	return bind("value", e.Type, e.EventKey.ID.ID, e.EventID, e.EventType, by, at)
}

// bind joins texts unambiguously.
func bind(parts ...string) []byte {
	b := []byte("onefold shred 1")
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

// stateMark is the prefix of a sealed state, which no JSON has.
const stateMark = "\x00shred1"

// sealedState is the state of a snapshot, encrypted with its own key, which is encrypted with the
// keys of all subjects in turn: if any of them is erased, the state is unreadable.
type sealedState struct {
	By   []string `json:"by"`
	Key  []byte   `json:"key"`
	Data []byte   `json:"data"`
}

func (s *sealedState) payload() (eventstore.Payload, error) {
	b, err := json.Marshal(s)
	return append([]byte(stateMark), base64.StdEncoding.AppendEncode(nil, b)...), err
}
