package middleware

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Permission is what an operation requires of its caller. For operations of a site, it must be held
// on that site.
type Permission int

const (
	ForAnyone     Permission = iota + 1 // ingest, health, login
	ForIdentified                       // any known caller: a person, a key, the token
	ForPerson                           // a logged-in person
	ForStatistics                       // sees statistics, which identify nobody; also for public and shared views
	ForRead                             // sees everything
	ForAppend                           // sends events or readings; also for ingest-only keys
	ForWrite                            // changes settings
	ForOwner                            // deletes the site or fleet and manages its roles; only people
	ForAllSites                         // creates sites and fleets, and sees the load of the whole table
	ForAccounts                         // manages accounts; only people
)

// Names of the authentication schemes in the API document.
const (
	TokenScheme   = "token"
	SessionScheme = "session"
)

// Keys of an operation's metadata.
const (
	permissionKey = "permission"
	placeKey      = "place"
	anyQueryKey   = "any query"
	temporaryKey  = "temporary password"
	limitsKey     = "limits"

	restrictionKey = "restriction"
	basicKey       = "basic authentication"
)

// How an operation applies the limits of a key.
const (
	limitsByPath    = "path"
	limitsByHandler = "handler"
)

// OnAggregate opens an operation on one aggregate to limited keys. The aggregate is named by the path
// parameters type and id; a key whose limits exclude it is refused.
func OnAggregate(op huma.Operation) huma.Operation {
	op.Metadata[limitsKey] = limitsByPath
	return op
}

// AppliesLimits allows an operation to limited keys, because its handler applies Caller.Limits.
func AppliesLimits(op huma.Operation) huma.Operation {
	op.Metadata[limitsKey] = limitsByHandler
	return op
}

// AppliesRestriction allows an operation to callers who may see only a segment, because its handler
// applies Caller.Restriction, or its answer has no statistics.
func AppliesRestriction(op huma.Operation) huma.Operation {
	op.Metadata[restrictionKey] = true
	return op
}

// Guard declares the permission that an operation requires. CheckGuards fails for operations
// without one.
func Guard(need Permission, op huma.Operation) huma.Operation {
	op.Metadata = map[string]any{permissionKey: need}
	if need != ForAnyone {
		op.Security = []map[string][]string{{TokenScheme: {}}, {SessionScheme: {}}}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
	}
	return op
}

// GuardOf declares the permission that an operation requires on a place that its path does not
// name, such as the event store.
func GuardOf(place string, need Permission, op huma.Operation) huma.Operation {
	op = Guard(need, op)
	op.Metadata[placeKey] = place
	return op
}

// WithTemporaryPassword allows an operation to people who must change their password first.
func WithTemporaryPassword(op huma.Operation) huma.Operation {
	op.Metadata[temporaryKey] = true
	return op
}

// AnyQuery lets an operation have unknown query parameters, because third parties that redirect to
// it add their own.
func AnyQuery(op huma.Operation) huma.Operation {
	op.Metadata[anyQueryKey] = true
	return op
}

// WithBasic also accepts API keys as the password of basic authentication, whatever the user name, for
// clients that have no other. Browsers would send such credentials by themselves, so the response to a
// request without any does not ask for them.
func WithBasic(op huma.Operation) huma.Operation {
	op.Metadata[basicKey] = true
	return op
}

// CheckGuards fails if an operation does not declare a permission.
func CheckGuards(api huma.API) error {
	for path, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch, item.Head, item.Options} {
			if op == nil {
				continue
			}
			if _, ok := op.Metadata[permissionKey].(Permission); !ok {
				return fmt.Errorf("middleware: %s %s does not declare a permission: register it with Guard", op.Method, path)
			}
		}
	}
	return nil
}

// CheckSchemas fails if the API document lacks fields that are sent: huma omits the fields of
// embedded unexported structs, but encoding/json does not.
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
				return fmt.Errorf("middleware: the document of %s lacks %s: export the struct that it embeds", t, sent)
			}
		}
	}
	return nil
}

// needs describes the required permissions in the API document.
var needs = map[Permission]string{
	ForAnyone: "For anyone.", ForIdentified: "For people and keys.", ForPerson: "For logged-in people.",
	ForStatistics: "For callers who may see the site's statistics, including public and shared views.",
	ForAppend:     "For admins, and keys that send or write.",
	ForRead:       "For viewers of the site or fleet, and keys that read.", ForWrite: "For admins of the site or fleet, and keys that write.",
	ForOwner: "For owners of the site, fleet or event store.", ForAllSites: "For admins of all sites, and keys that write to all sites.", ForAccounts: "For owners of all sites.",
}

// NeedsOf describes the permission that an operation requires.
func NeedsOf(op *huma.Operation) string {
	need, _ := op.Metadata[permissionKey].(Permission)
	return needs[need]
}
