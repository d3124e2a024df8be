// Package heat says which partition keys take more than their share of what a partition can, which entities and patterns of
// the schema that comes from, and what to do. It is told what was metered: it meters nothing itself.
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

// Use is what a partition key took in the busiest second of some time.
type Use struct {
	At         time.Time `json:"at"` // when it was metered
	Key        string    `json:"key"`
	Index      string    `json:"index,omitempty"` // "": of the table
	PeakReads  float64   `json:"peakReads"`       // units
	PeakWrites float64   `json:"peakWrites"`      // units
}

// Share is what of a partition's capacity was taken; above 1 it would have been throttled.
func (u *Use) Share() float64 {
	return max(u.PeakReads/blueprint.PartitionReads, u.PeakWrites/blueprint.PartitionWrites)
}

// Finding is a key at its busiest, and why. Until, Times and Fix are of a hot one.
type Finding struct {
	Use
	Share    float64   `json:"share"`
	Until    time.Time `json:"until,omitzero"`     // when it was hot last
	Template string    `json:"template,omitempty"` // of the schema's, that makes such keys; "": none does
	Patterns []string  `json:"patterns,omitempty"` // that ask or write such keys; first those with the larger declared load
	Entities []string  `json:"entities,omitempty"` // that have such keys
	Site     string    `json:"site,omitempty"`     // over whose shards its items are spread
	Times    int       `json:"times,omitempty"`    // by how much it has to be spread to be below the share that was asked for
	Fix      string    `json:"fix,omitempty"`
}

// Find returns the keys whose busiest second took more than a share of what a partition can, the hottest first, each once.
func Find(s *table.Schema, uses []Use, share float64) []Finding {
	return rank(s, slices.DeleteFunc(slices.Clone(uses), func(u Use) bool { return u.Share() <= share }), share, len(uses))
}

// Busiest returns the n keys that took most, the busiest first, each once. Those above the share are hot.
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
		if u.Share() > share && u.At.After(f.Until) {
			f.Until = u.At
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

// explain finds what makes such keys, and says what to do about a hot one.
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
		if literal(pk) > literal(f.Template) { // what says more of the key is what makes it
			f.Entities = nil
		}
		f.Entities, f.Template = append(f.Entities, e.Name), pk
	}
	patterns := slices.DeleteFunc(s.Patterns(), func(p table.PatternInfo) bool {
		reads := p.Operation == "Query" || p.Operation == "GetItem"
		if reads != (f.PeakReads/blueprint.PartitionReads > f.PeakWrites/blueprint.PartitionWrites) {
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
	case f.Site != "":
		return fmt.Sprintf("raise the site's shards to %d times as many: onefold site reshard %s N", f.Times, f.Site)
	case strings.Contains(f.Template, "{shard"):
		return fmt.Sprintf("raise the number of its shards to %d times as many", f.Times)
	case f.PeakReads/blueprint.PartitionReads > f.PeakWrites/blueprint.PartitionWrites:
		return "keep the answer for a few seconds where it is asked for, or read it eventually consistent, which takes half"
	case f.Template != "":
		return "write it less often: let what is derived wait (onefold serve --fold-delay 30s), or count in partials that a reader adds up"
	}
	return "no entity of the schema makes this key: look who writes it"
}

// siteOf is the site of a sharded key.
func siteOf(key string) string {
	site, _, _ := strings.Cut(strings.TrimPrefix(key, "SITE#"), "#SHARD#")
	return site
}

// literal is how many bytes of a template are in every key that it makes.
func literal(template string) int { return len(anything.ReplaceAllString(template, "")) }

var anything = regexp.MustCompile(`\{[^}]*\}|\[[^]]*\]`)

var variable = regexp.MustCompile(`\\\{[^}]*\\\}`)

// Makes reports whether a key template makes a key. A variable is anything without '#'.
func Makes(template, key string) bool {
	source := strings.NewReplacer(`\[`, `(?:`, `\]`, `)?`).Replace(regexp.QuoteMeta(template))
	re, err := regexp.Compile(`^` + variable.ReplaceAllString(source, `[^#]*`) + `$`)
	return err == nil && re.MatchString(key)
}
