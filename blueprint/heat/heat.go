// Package heat finds partition keys that use more than their share of a partition's capacity, the
// entities and patterns of the schema that cause it, and remedies. It works on usage metered
// elsewhere.
package heat

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/table"
)

// Use is the usage of a partition key in the busiest second of a period.
type Use struct {
	At         time.Time `json:"at"` // when it was metered
	Key        string    `json:"key"`
	Index      string    `json:"index,omitempty"` // "" for the table
	PeakReads  float64   `json:"peakReads"`       // units
	PeakWrites float64   `json:"peakWrites"`      // units
}

// mostlyReads reports whether reads used a larger share of the capacity than writes.
func (u *Use) mostlyReads() bool {
	return u.PeakReads/blueprint.PartitionReads > u.PeakWrites/blueprint.PartitionWrites
}

// Spreadable reports whether more shards of the site would cool the key: they spread writes.
func (f *Finding) Spreadable() bool { return f.Site != "" && !f.mostlyReads() }

// Share returns the used share of a partition's capacity. Above 1, requests would be throttled.
func (u *Use) Share() float64 {
	return max(u.PeakReads/blueprint.PartitionReads, u.PeakWrites/blueprint.PartitionWrites)
}

// Finding is the busiest second of a key, and its cause. Until, Periods, Times and Fix are set only
// for hot keys.
type Finding struct {
	Use
	Share    float64   `json:"share"`
	Until    time.Time `json:"until,omitzero"`     // when the key was last hot
	Periods  int       `json:"periods,omitempty"`  // number of metered periods in which the key was hot
	Template string    `json:"template,omitempty"` // key template of the schema that matches; "" if none does
	Patterns []string  `json:"patterns,omitempty"` // patterns that read or write such keys, highest declared load first
	Entities []string  `json:"entities,omitempty"` // entities with such keys
	Site     string    `json:"site,omitempty"`     // site over whose shards the items are spread
	Times    int       `json:"times,omitempty"`    // factor by which to spread the key to get below the requested share
	Fix      string    `json:"fix,omitempty"`
}

// Find returns the keys whose busiest second exceeded the given share of a partition's capacity,
// hottest first, each once.
func Find(s *table.Schema, uses []Use, share float64) []Finding {
	return rank(s, slices.DeleteFunc(slices.Clone(uses), func(u Use) bool { return u.Share() <= share }), share, len(uses))
}

// Busiest returns the n busiest keys, busiest first, each once. Those above the share are hot.
func Busiest(s *table.Schema, uses []Use, share float64, n int) []Finding {
	return rank(s, uses, share, n)
}

func rank(s *table.Schema, uses []Use, share float64, n int) []Finding {
	worst := map[[2]string]*Finding{}
	for _, u := range uses {
		at := [2]string{u.Index, u.Key}
		f := worst[at]
		if f == nil {
			f = new(Finding)
			worst[at] = f
		}
		if of := u.Share(); f.Key == "" || of > f.Share {
			f.Use, f.Share = u, of
		}
		if u.Share() > share {
			f.Periods++
			if u.At.After(f.Until) {
				f.Until = u.At
			}
		}
	}
	found := slices.SortedFunc(maps.Values(worst), func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Index, b.Index))
	})
	all := make([]Finding, min(n, len(found)))
	for i := range all {
		all[i] = *found[i]
		all[i].explain(s, share)
	}
	return all
}

// explain finds the cause of a key and, if it is hot, a remedy.
func (f *Finding) explain(s *table.Schema, share float64) {
	for _, e := range s.Entities() {
		pk := e.PK
		if f.Index != "" {
			at := slices.IndexFunc(e.Indexes, func(x table.IndexInfo) bool { return x.Name == f.Index })
			if at < 0 {
				continue
			}
			pk = e.Indexes[at].PK
		}
		if !Makes(pk, f.Key) || literal(pk) < literal(f.Template) {
			continue
		}
		if literal(pk) > literal(f.Template) { // the most specific template is the right one
			f.Entities = nil
		}
		f.Entities, f.Template = append(f.Entities, e.Name), pk
	}
	patterns := slices.DeleteFunc(s.Patterns(), func(p table.PatternInfo) bool {
		reads := p.Operation == "Query" || p.Operation == "GetItem"
		if reads != f.mostlyReads() {
			return true
		}
		return reads && p.Index != f.Index || !reads && f.Index != "" || !slices.Contains(f.Entities, p.Entity)
	})
	slices.SortStableFunc(patterns, func(a, b table.PatternInfo) int { return cmp.Compare(b.Load.PerSecond, a.Load.PerSecond) })
	for _, p := range patterns {
		f.Patterns = append(f.Patterns, p.ID+" "+p.Question)
	}
	if strings.HasPrefix(f.Template, "SITE#{siteId}#SHARD#") {
		f.Site = siteOf(f.Key)
	}
	if f.Share > share {
		f.Times = int(math.Ceil(f.Share / share))
		f.Fix = f.fix()
	}
}

func (f *Finding) fix() string {
	switch {
	case f.Site != "" && f.mostlyReads(): // more shards spread only events that are yet to come
		return "read fewer days at once: verify, export or filter shorter ranges, or do so when there is little traffic"
	case f.Site != "":
		return fmt.Sprintf("multiply the site's shards by %d: onefold site reshard %s N", f.Times, f.Site)
	case strings.Contains(f.Template, "{shard") && !f.mostlyReads():
		return fmt.Sprintf("send less at once, in several seconds, or multiply the number of its shards by %d", f.Times)
	case f.mostlyReads():
		return "cache the answer for a few seconds, or use eventually consistent reads, which cost half"
	case f.Template != "":
		return "write it less often: delay derived items (onefold serve --fold-delay 30s), or count in partials that readers add up"
	}
	return "no entity of the schema has this key: find out which program writes it"
}

// siteOf returns the site in a sharded key.
func siteOf(key string) string {
	site, _, _ := strings.Cut(strings.TrimPrefix(key, "SITE#"), "#SHARD#")
	return site
}

// literal returns the number of literal bytes in a template.
func literal(template string) int { return len(anything.ReplaceAllString(template, "")) }

var anything = regexp.MustCompile(`\{[^}]*\}|\[[^]]*\]`)

var variable = regexp.MustCompile(`\\\{[^}]*\\\}`)

// Makes reports whether a key matches a key template. Variables match any text without '#'.
func Makes(template, key string) bool {
	source := strings.NewReplacer(`\[`, `(?:`, `\]`, `)?`).Replace(regexp.QuoteMeta(template))
	re, err := regexp.Compile(`^` + variable.ReplaceAllString(source, `[^#]*`) + `$`)
	return err == nil && re.MatchString(key)
}
