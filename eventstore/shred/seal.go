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

// sealedName is the entry of an event's metadata that says what of it is sealed. It is there in the table only.
const sealedName = "$sealed"

// contents say what of an event is sealed, in the order in which it was.
type contents struct {
	Fields   []string `json:"fields,omitempty"`
	Metadata []string `json:"metadata,omitempty"`
}

// box is a value that is sealed, in the place of the value.
type box struct {
	Data []byte `json:"$sealed"` // nonce, then the JSON of the value, encrypted
	By   string `json:"by"`      // whose key
	As   string `json:"as"`      // text, or other
}

const (
	asText  = "text"
	asOther = "other"
)

// seal seals what is personal in the events of an append.
func (k *Keeper) seal(ctx context.Context, events []eventstore.Event) error {
	personal, err := k.personal(ctx)
	if err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if _, ok := e.Metadata[sealedName]; ok {
			return fmt.Errorf("%w: metadata cannot be called %s", eventstore.ErrInvalid, sealedName)
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

// setMetadata sets an entry of an event alone: the caller's map stays as it is.
func setMetadata(e *eventstore.Event, name, value string) {
	if e.Metadata = maps.Clone(e.Metadata); e.Metadata == nil {
		e.Metadata = map[string]string{}
	}
	e.Metadata[name] = value
}

// sealBy seals what one rule says.
func (k *Keeper) sealBy(ctx context.Context, e *eventstore.Event, r rule, all *contents) error {
	var by *subject // found when there is something to seal
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
			continue // nothing of it is there
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

// subject is a person and the key.
type subject struct {
	id  string
	key *key
}

// subjectOf finds whom an event is about, and notes it.
func (k *Keeper) subjectOf(ctx context.Context, e *eventstore.Event, r rule) (*subject, error) {
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
		return nil, fmt.Errorf("%w: its field %s has to have an id of 1 to %d bytes without '#'", ErrNoSubject, strings.Join(r.subject, "."), maxSubject)
	}
	found, err := k.make(ctx, id)
	if err != nil {
		return nil, err
	}
	return &subject{id, found}, k.join(ctx, id, e.EventKey.ID)
}

const maxSubject = 256

// open opens what of an event is sealed.
func (k *Keeper) open(ctx context.Context, e *eventstore.Event) error {
	return unseal(e, func(at string, value json.RawMessage) (json.RawMessage, error) {
		plain, _, err := k.openBox(ctx, e, at, value)
		return plain, err
	})
}

// unseal passes each box of a sealed event through open.
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

// tag is a hash of the values of an event that are sealed, each with the key of its person. Not ok: one of them was forgotten.
func (k *Keeper) tag(ctx context.Context, e *eventstore.Event) (tag []byte, ok bool, err error) {
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

// openBox opens a value with the key that it also returns, or returns the placeholder.
func (k *Keeper) openBox(ctx context.Context, e *eventstore.Event, at string, value json.RawMessage) (json.RawMessage, *key, error) {
	var b box
	if err := json.Unmarshal(value, &b); err != nil || len(b.Data) == 0 {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnreadable, at)
	}
	by, err := k.find(ctx, b.By)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil, nil, fmt.Errorf("%w: there is no key of %q", ErrUnreadable, b.By)
	case err != nil:
		return nil, nil, err
	case by.AEAD == nil && b.As == asText:
		return json.RawMessage(strconv.Quote(Forgotten)), by, nil
	case by.AEAD == nil:
		return json.RawMessage("null"), by, nil
	}
	plain, err := by.Open(nil, nil, b.Data, binding(e, b.By, at))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnreadable, at)
	}
	return plain, by, nil
}

// binding keeps a value in its place: decrypted anywhere else, it fails.
func binding(e *eventstore.Event, by, at string) []byte {
	return bind("value", e.Type, e.EventKey.ID.ID, e.EventID, e.EventType, by, at)
}

// bind joins texts so that no two lists of them are the same bytes.
func bind(parts ...string) []byte {
	b := []byte("onefold shred 1")
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

// stateMark begins a state that is sealed, which no JSON does.
const stateMark = "\x00shred1"

// sealedState is the state of a snapshot, encrypted with a key of its own, which is encrypted with those of all subjects, one
// after the other: whoever of them is forgotten, it cannot be read any more.
type sealedState struct {
	By   []string `json:"by"`
	Key  []byte   `json:"key"`
	Data []byte   `json:"data"`
}

func (s *sealedState) payload() (eventstore.Payload, error) {
	b, err := json.Marshal(s)
	return append([]byte(stateMark), base64.StdEncoding.AppendEncode(nil, b)...), err
}
