package accounts

import (
	"fmt"
	"slices"
	"strings"
)

// Limits restrict a key of the event store to some aggregates. The zero value restricts nothing.
type Limits struct {
	Types  []string `dynamodbav:"types,omitempty" json:"aggregateTypes,omitempty" maxItems:"20" doc:"For events:main: only aggregates of these types. Default: all."`
	Tenant string   `dynamodbav:"tenant,omitempty" json:"tenant,omitempty" maxLength:"64" doc:"For events:main: only aggregates whose IDs begin with the tenant and a slash, as in acme/1042. Appended events get this tenant. Default: all."`
}

// MaxLimitedTypes is the maximum number of types in Limits.
const MaxLimitedTypes = 20

// Any reports whether anything is restricted.
func (l *Limits) Any() bool { return len(l.Types) > 0 || l.Tenant != "" }

// Allow reports whether an aggregate is within the limits.
func (l *Limits) Allow(aggregateType, id string) bool {
	return l.AllowType(aggregateType) && strings.HasPrefix(id, l.Prefix())
}

// AllowType reports whether aggregates of a type can be within the limits.
func (l *Limits) AllowType(aggregateType string) bool {
	return len(l.Types) == 0 || slices.Contains(l.Types, aggregateType)
}

// Prefix returns what the IDs of allowed aggregates begin with; "" allows all.
func (l *Limits) Prefix() string {
	if l.Tenant == "" {
		return ""
	}
	return l.Tenant + "/"
}

// AllowName reports whether a tag, or a scope of unique values, is within the limits: it must begin
// with the tenant, as in acme/course:42. A key with types has no names, because other types share them.
func (l *Limits) AllowName(name string) bool {
	return !l.Any() || len(l.Types) == 0 && strings.HasPrefix(name, l.Prefix())
}

// check validates the limits of a key for a site.
func (l *Limits) check(site string) error {
	if l.Any() && site != EventStore {
		return fmt.Errorf("%w: only keys of %s can be limited to aggregates", ErrInvalid, EventStore)
	}
	if len(l.Types) > MaxLimitedTypes {
		return fmt.Errorf("%w: a key can be limited to at most %d aggregate types", ErrInvalid, MaxLimitedTypes)
	}
	for i, t := range l.Types {
		if t == "" || len(t) > 64 || strings.Contains(t, "#") || slices.Contains(l.Types[:i], t) {
			return fmt.Errorf("%w: aggregate type %q: use different names of 1 to 64 bytes without '#'", ErrInvalid, t)
		}
	}
	if len(l.Tenant) > 64 || strings.ContainsAny(l.Tenant, "#/") {
		return fmt.Errorf("%w: tenant: use 1 to 64 bytes without '#' and '/'", ErrInvalid)
	}
	return nil
}
