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

// limitAppend applies the limits of the caller's key to an append: it checks the aggregate, and gives
// the events the key's tenant. Tags, conditions and values are shared by all aggregates, so limited keys
// cannot use them.
func limitAppend(ctx context.Context, id eventstore.ID, events []eventstore.NewEvent, shared bool) error {
	limits := &middleware.CallerOf(ctx).Limits
	switch {
	case !limits.Any():
		return nil
	case !limits.Allow(id.Type, id.ID):
		return limited("The key is limited to other aggregates.")
	case shared:
		return limited("The key is limited to some aggregates. Values and conditions concern all of them.")
	}
	for i := range events {
		e := &events[i]
		switch {
		case len(e.Tags) > 0:
			return limited("The key is limited to some aggregates. Tags concern all of them.")
		case limits.Tenant != "" && e.Tenant != "" && e.Tenant != limits.Tenant:
			return limited("The key is limited to another tenant.")
		case limits.Tenant != "":
			e.Tenant = limits.Tenant
		}
	}
	return nil
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
