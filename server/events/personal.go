package events

import (
	"context"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/server/internal/middleware"
)

// secretsOf returns the options of a store with keys; nil has none.
func secretsOf(keys *shred.KeyStore) eventstore.Options {
	if keys == nil {
		return eventstore.Options{}
	}
	return eventstore.Options{Secrets: keys.Secrets()}
}

// hidingStore returns a store that encrypts like Options.Store, and does not decrypt.
func hidingStore(o *Options) (*eventstore.Store, error) {
	if o.Keys == nil {
		return o.Store, nil
	}
	return o.Store.WithSecrets(o.Keys.Sealing())
}

// storeFor returns the store for a request: it decrypts personal fields only for callers who may see
// them.
func (s *Service) storeFor(ctx context.Context) *eventstore.Store {
	if s.hides(ctx) {
		return s.hiding
	}
	return s.store
}

// hides reports whether a caller gets placeholders instead of personal data.
func (s *Service) hides(ctx context.Context) bool { return !middleware.CallerOf(ctx).SeesPersonal() }

// describe returns an event of the store of the request as JSON, with placeholders for what was not
// decrypted.
func describe(e *eventstore.Event) eventjson.Event {
	shred.Redact(e)
	return eventjson.Of(e)
}
