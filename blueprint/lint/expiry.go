package lint

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// clockExpiry makes two examples of each expiring item, with times ten days apart, and checks
// whether ttl depends on them.
func clockExpiry(s *schema) []Finding {
	var all []Finding
	for i := range s.entities {
		e := &s.entities[i]
		if !e.Expires || !hasTime(e) {
			continue
		}
		now := time.Now()
		young, old := ttlAt(s.Schema, e.Name, now), ttlAt(s.Schema, e.Name, now.AddDate(0, 0, -10))
		if young == 0 || old == 0 || young != old {
			continue // the example does not expire, or its ttl follows its time
		}
		all = append(all, Finding{Entity: e.Name, What: "its TTL does not depend on the item's own time: items loaded later live too long, and a wrong clock makes items expire at once or never",
			Fix: "compute Expires from the item's own time"})
	}
	return all
}

// hasTime reports whether an item contains the time when it happened. The ttl attribute itself does
// not count.
func hasTime(e *table.EntityInfo) bool {
	for _, list := range [][]table.AttributeInfo{e.Key, e.Attributes} {
		for _, a := range list {
			if a.Type == "time.Time" && a.Name != table.AttrTTL && !strings.Contains(strings.ToLower(a.Name), "expire") {
				return true
			}
		}
	}
	return false
}

// ttlAt returns the ttl of an example with all times set to at, in epoch seconds, or 0 if it has
// none.
func ttlAt(s *table.Schema, entity string, at time.Time) int64 {
	x, err := s.ExampleRow(entity)
	if err != nil {
		return 0
	}
	x.Each(func(name string, optional bool, v reflect.Value) {
		if _, ok := v.Interface().(time.Time); ok && name != table.AttrTTL {
			v.Set(reflect.ValueOf(at))
		} else if v.Kind() == reflect.String && !optional {
			v.SetString("x")
		}
	})
	x.Complete()
	it, err := x.Item()
	if err != nil {
		return 0 // skip entities without valid examples
	}
	n, ok := it[table.AttrTTL].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	seconds, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return seconds
}
