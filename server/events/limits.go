package events

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

// limited is the error for what is outside the limits of a key.
func limited(detail string) error {
	return middleware.Problem(http.StatusForbidden, middleware.KeyLimited, detail)
}

// shared are the names that an append shares with other aggregates.
type shared struct {
	unless *unlessBody
	values *Values
}

// limitAppend applies the limits of the caller's key to an append: it checks the aggregate and the
// names that it shares with others, and gives the events the key's tenant.
func limitAppend(ctx context.Context, id eventstore.ID, events []eventstore.NewEvent, with shared) error {
	limits := &middleware.CallerOf(ctx).Limits
	if !limits.Any() {
		return nil
	}
	if !limits.Allow(id.Type, id.ID) {
		return limited("The key is limited to other aggregates.")
	}
	if err := with.limit(limits); err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if err := limitNames(limits, "tags", e.Tags...); err != nil {
			return err
		}
		switch {
		case limits.Tenant != "" && e.Tenant != "" && e.Tenant != limits.Tenant:
			return limited("The key is limited to another tenant.")
		case limits.Tenant != "":
			e.Tenant = limits.Tenant
		}
	}
	return nil
}

func (w *shared) limit(limits *accounts.Limits) error {
	for _, v := range w.values.Reserve {
		if err := limitNames(limits, "scopes of values", v.Scope); err != nil {
			return err
		}
	}
	for _, v := range w.values.Release {
		if err := limitNames(limits, "scopes of values", v.Scope); err != nil {
			return err
		}
	}
	if w.unless == nil {
		return nil
	}
	return limitQuery(limits, w.unless.Query)
}

// limitQuery applies the limits of a key to a query. It refuses tags of other tenants.
func limitQuery(limits *accounts.Limits, query []queryItem) error {
	for _, item := range query {
		if err := limitNames(limits, "tags", item.Tags...); err != nil {
			return err
		}
	}
	return nil
}

// limitNames checks names that aggregates share.
func limitNames(limits *accounts.Limits, what string, names ...string) error {
	switch {
	case !slices.ContainsFunc(names, func(name string) bool { return !limits.AllowName(name) }):
		return nil
	case len(limits.Types) > 0:
		return limited("The key is limited to aggregate types. Others share the " + what + ".")
	}
	return limited("The key is limited to a tenant. Use " + what + " that begin with " + limits.Prefix())
}

// limitEvents returns the events of aggregates within the limits of a key.
func limitEvents(limits *accounts.Limits, events []eventstore.Event) []eventstore.Event {
	return slices.DeleteFunc(events, func(e eventstore.Event) bool { return !limits.Allow(e.Type, e.EventKey.ID.ID) })
}

// limitTypes returns the aggregate types of a filter within the limits of the caller's key.
func limitTypes(ctx context.Context, types []string) ([]string, error) {
	limits := &middleware.CallerOf(ctx).Limits
	if len(types) == 0 {
		return limits.Types, nil
	}
	if slices.ContainsFunc(types, func(t string) bool { return !limits.AllowType(t) }) {
		return nil, limited("The key is limited to other aggregate types.")
	}
	return types, nil
}

// limitPrefix returns the prefix of IDs of a list within the limits of the caller's key.
func limitPrefix(ctx context.Context, aggregateType, prefix string) (string, error) {
	limits := &middleware.CallerOf(ctx).Limits
	switch {
	case !limits.AllowType(aggregateType):
		return "", limited("The key is limited to other aggregate types.")
	case prefix == "":
		return limits.Prefix(), nil
	case !strings.HasPrefix(prefix, limits.Prefix()):
		return "", limited("The key is limited to IDs with another prefix.")
	}
	return prefix, nil
}

// limitFeed returns the events of a page of the feed within the limits of a key. Of each append, the
// last one that remains is marked as the last.
func limitFeed(limits *accounts.Limits, events []eventstore.FeedEvent) []eventstore.FeedEvent {
	if !limits.Any() {
		return events
	}
	kept := slices.DeleteFunc(events, func(e eventstore.FeedEvent) bool { return !limits.Allow(e.Type, e.ID.ID) })
	for i := range kept {
		kept[i].Last = i+1 == len(kept) || kept[i+1].Position != kept[i].Position
	}
	return kept
}
