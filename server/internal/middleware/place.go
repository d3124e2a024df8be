package middleware

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
)

// SitePath names the site of an operation, on which the caller needs the permission. Embedded parts
// of requests are exported, because huma fills in no others.
type SitePath struct {
	Site string `path:"site" maxLength:"128" doc:"ID of the site."`
}

// FleetPath names the fleet of an operation, on which the caller needs the permission.
type FleetPath struct {
	Fleet string `path:"fleet" maxLength:"64" doc:"ID of the fleet."`
}

// Kind is a kind of place that roles are granted on.
type Kind struct {
	Noun   string // for people, with its article
	path   string
	prefix string // prefix of operation IDs
	place  string // for a kind with a single place, which paths do not name
	param  huma.Param
}

// The kinds of places.
var (
	Sites  = Kind{Noun: "a site", path: "/api/v1/sites/{site}", param: pathParam("site", 128)}
	Fleets = Kind{Noun: "a fleet", path: "/api/v1/fleets/{fleet}", prefix: "fleet-", param: pathParam("fleet", 64)}
	Events = Kind{Noun: "the event store", path: "/api/v1/events", prefix: "events-", place: accounts.EventStore}
)

func pathParam(name string, longest int) huma.Param {
	return huma.Param{Name: name, In: "path", Required: true, Description: "ID of the " + name + ".", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest}}
}

// Guard is like the function Guard, for an operation that exists for several kinds of places. It
// puts the operation's path below that of the place. The request does not name the place; CallerOf
// returns it.
func (k Kind) Guard(need Permission, op huma.Operation) huma.Operation {
	op.OperationID, op.Path = k.prefix+op.OperationID, k.path+op.Path
	if k.place != "" {
		return GuardOf(k.place, need, op)
	}
	param := k.param
	op.Parameters = []*huma.Param{&param}
	return Guard(need, op)
}

// placeOf returns the place whose roles apply: the one declared with the operation, otherwise the
// site or fleet in its path, or "" if there is none.
func placeOf(ctx huma.Context) string {
	if place, ok := ctx.Operation().Metadata[placeKey].(string); ok {
		return place
	}
	if fleet := ctx.Param("fleet"); fleet != "" {
		return accounts.OfFleet(fleet)
	}
	return ctx.Param("site")
}

// checkPlace rejects IDs that no place can have, and IDs of a place of another kind, so that a
// fleet cannot be changed as if it were a site.
func checkPlace(ctx huma.Context) error {
	if !accounts.CanBeSite(ctx.Param("site")) {
		return Problem(http.StatusNotFound, "not_found", "There is no site with this ID. Fleets are under /api/v1/fleets, the event store is under /api/v1/events.")
	}
	for _, p := range ctx.Operation().Parameters {
		if p.In == "path" && p.Schema != nil && p.Schema.MaxLength != nil && len(ctx.Param(p.Name)) > *p.Schema.MaxLength {
			return Problem(http.StatusNotFound, "not_found", "The ID is too long.")
		}
	}
	return nil
}

// nounsOf returns what problem texts call the request's place and the data sent to it.
func nounsOf(ctx context.Context) (place, sent string) {
	switch of := CallerOf(ctx).Place; {
	case of == "":
		return "site or fleet", "data"
	case of == accounts.EventStore:
		return "event store", "events"
	default:
		if _, ok := accounts.FleetOf(of); ok {
			return "fleet", "readings"
		}
		return "site", "events"
	}
}
