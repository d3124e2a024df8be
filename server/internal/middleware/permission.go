package middleware

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Permission is what an operation asks of whoever calls it. On operations of one site it is meant for that site.
type Permission int

const (
	ForAnyone     Permission = iota + 1 // ingest, health, logging in
	ForSomebody                         // anyone who is known: a person, a key, the token
	ForPerson                           // somebody who logged in
	ForStatistics                       // sees figures that tell of nobody: shared and public views may, too
	ForRead                             // sees everything
	ForAppend                           // sends what happened: keys that do nothing else may, too
	ForWrite                            // changes settings
	ForOwner                            // deletes the site or fleet, and gives roles on it; a person
	ForAllSites                         // makes sites and fleets, and sees what the whole table takes
	ForAccounts                         // looks after accounts; a person
)

// The ways to say who one is, as the API's document names them.
const (
	TokenScheme   = "token"
	SessionScheme = "session"
)

// Of an operation's metadata.
const (
	permissionKey = "permission"
	placeKey      = "place"
	anyQueryKey   = "any query"
)

// Guard declares what an operation needs. Every operation is declared; CheckGuards fails for one that is not.
func Guard(need Permission, op huma.Operation) huma.Operation {
	op.Metadata = map[string]any{permissionKey: need}
	if need != ForAnyone {
		op.Security = []map[string][]string{{TokenScheme: {}}, {SessionScheme: {}}}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
	}
	return op
}

// GuardOf declares what an operation needs on what its path does not name, such as the event store.
func GuardOf(place string, need Permission, op huma.Operation) huma.Operation {
	op = Guard(need, op)
	op.Metadata[placeKey] = place
	return op
}

// AnyQuery lets an operation have parameters that it does not know: others, who add their own, send people there.
func AnyQuery(op huma.Operation) huma.Operation {
	op.Metadata[anyQueryKey] = true
	return op
}

// CheckGuards fails when an operation does not say what it needs.
func CheckGuards(api huma.API) error {
	for path, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch, item.Head, item.Options} {
			if op == nil {
				continue
			}
			if _, ok := op.Metadata[permissionKey].(Permission); !ok {
				return fmt.Errorf("door: %s %s does not declare what it needs: register it with Guard", op.Method, path)
			}
		}
	}
	return nil
}

// CheckSchemas fails when the API's document lacks fields that are sent: huma leaves out those of embedded structs that are not
// exported, which encoding/json does not.
func CheckSchemas(api huma.API) error {
	schemas := api.OpenAPI().Components.Schemas
	for name, schema := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if schema.Type != huma.TypeObject || t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			sent, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || sent == "" || sent == "-" {
				continue
			}
			if schema.Properties[sent] == nil {
				return fmt.Errorf("door: the document of %s lacks %s: export the struct that it embeds", t, sent)
			}
		}
	}
	return nil
}

// needs says for people what an operation asks of its caller.
var needs = map[Permission]string{
	ForAnyone: "For anyone.", ForSomebody: "For people and keys.", ForPerson: "For people who logged in.",
	ForStatistics: "For whoever may see the site's statistics, shared and public views too.",
	ForAppend:     "For admins, and keys that send or write.",
	ForRead:       "For viewers of the site or fleet, and keys that read.", ForWrite: "For admins of the site or fleet, and keys that write.",
	ForOwner: "For owners of the site, fleet or event store.", ForAllSites: "For admins of all sites, and keys that write to all.", ForAccounts: "For owners of all sites.",
}

// NeedsOf says for people what an operation asks of its caller.
func NeedsOf(op *huma.Operation) string {
	need, _ := op.Metadata[permissionKey].(Permission)
	return needs[need]
}
