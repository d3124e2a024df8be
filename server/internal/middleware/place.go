package middleware

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
)

// SitePath names the site of an operation, for which the caller needs the permission. Parts of requests are exported,
// because huma fills in no others.
type SitePath struct {
	Site string `path:"site" maxLength:"128"`
}

// FleetPath names the fleet of an operation, for which the caller needs the permission.
type FleetPath struct {
	Fleet string `path:"fleet" maxLength:"64"`
}

// Kind is a kind of place that roles are given on.
type Kind struct {
	Noun   string // for people, with its article
	path   string
	prefix string // of the ids of operations
	place  string // of a kind that there is one of, whose path names none
	param  huma.Param
}

// The kinds of places.
var (
	Sites  = Kind{Noun: "a site", path: "/api/v1/sites/{site}", param: pathParam("site", 128)}
	Fleets = Kind{Noun: "a fleet", path: "/api/v1/fleets/{fleet}", prefix: "fleet-", param: pathParam("fleet", 64)}
	Events = Kind{Noun: "the event store", path: "/api/v1/events", prefix: "events-", place: accounts.EventStore}
)

func pathParam(name string, longest int) huma.Param {
	return huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest}}
}

// Guard is Guard for an operation that places of more than one kind have, here of those of this kind: its path is below that of
// the place. Its request names no place: CallerOf tells which one it is.
func (k Kind) Guard(need Permission, op huma.Operation) huma.Operation {
	op.OperationID, op.Path = k.prefix+op.OperationID, k.path+op.Path
	if k.place != "" {
		return GuardOf(k.place, need, op)
	}
	param := k.param
	op.Parameters = []*huma.Param{&param}
	return Guard(need, op)
}

// placeOf is what roles are looked up for: what the operation was declared with, else a site or a fleet that its path says;
// "" for neither.
func placeOf(ctx huma.Context) string {
	if place, ok := ctx.Operation().Metadata[placeKey].(string); ok {
		return place
	}
	if fleet := ctx.Param("fleet"); fleet != "" {
		return accounts.OfFleet(fleet)
	}
	return ctx.Param("site")
}

// checkPlace refuses ids that no place has, of operations whose requests do not hold them, and what stands for a place of another
// kind: a fleet is not changed as if it were a site.
func checkPlace(ctx huma.Context) error {
	if !accounts.CanBeSite(ctx.Param("site")) {
		return Problem(http.StatusNotFound, "not_found", "There is no site of that id. Fleets are under /api/v1/fleets, the event store is under /api/v1/events.")
	}
	for _, p := range ctx.Operation().Parameters {
		if p.In == "path" && p.Schema != nil && p.Schema.MaxLength != nil && len(ctx.Param(p.Name)) > *p.Schema.MaxLength {
			return Problem(http.StatusNotFound, "not_found", "There is nothing of that id: it is too long for one.")
		}
	}
	return nil
}

// words are what problems call the place that a request is about, and what is sent to it.
func words(ctx context.Context) (place, sent string) {
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
