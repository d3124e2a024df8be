// Package heat says which partition keys take more than their share of what a partition can, which entities and patterns of
// the schema that comes from, and what to do. It is told what was metered: it meters nothing itself.
package heat

import (
	"cmp"
	"fmt"
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

// Finding is a hot key.
type Finding struct {
	Use
	Share    float64  `json:"share"`
	Template string   `json:"template,omitempty"` // of the schema's, that makes such keys; "": none does
	Patterns []string `json:"patterns,omitempty"` // that ask or write such keys; first those with the larger declared load
	Entities []string `json:"entities,omitempty"` // that have such keys
	Times    int      `json:"times"`              // by how much it has to be spread to be below the share that was asked for
	Fix      string   `json:"fix"`
}

// Find returns the keys whose busiest second took more than a share of what a partition can, the hottest first, each once.
func Find(s *table.Schema, uses []Use, share float64) []Finding {
	worst := map[[2]string]Use{}
	for _, u := range uses {
		at := [2]string{u.Index, u.Key}
		if was, ok := worst[at]; u.Share() > share && (!ok || u.Share() > was.Share()) {
			worst[at] = u
		}
	}
	var found []Finding
	for _, u := range worst {
		f := Finding{Use: u, Share: u.Share(), Times: int(math.Ceil(u.Share() / share))}
		f.explain(s)
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Index, b.Index))
	})
	return found
}

// explain finds what makes such keys, and says what to do.
func (f *Finding) explain(s *table.Schema) {
	for _, e := range s.Entities() {
		pk := e.PK
		if f.Index != "" {
			at := slices.IndexFunc(e.Indexes, func(x table.IndexInfo) bool { return x.Name == f.Index })
			if at < 0 {
				continue
			}
			pk = e.Indexes[at].PK
		}
		if Makes(pk, f.Key) {
			f.Entities, f.Template = append(f.Entities, e.Name), pk
		}
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
	f.Fix = f.fix()
}

func (f *Finding) fix() string {
	site, sharded := siteOf(f.Key)
	switch {
	case strings.HasPrefix(f.Template, "SITE#{siteId}#SHARD#") && sharded:
		return fmt.Sprintf("raise the site's shards to %d times as many: onefold site reshard %s N", f.Times, site)
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
func siteOf(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "SITE#")
	site, _, sharded := strings.Cut(rest, "#SHARD#")
	return site, ok && sharded
}

var variable = regexp.MustCompile(`\\\{[^}]*\\\}`)

// Makes reports whether a key template makes a key. A variable is anything without '#'.
func Makes(template, key string) bool {
	source := strings.NewReplacer(`\[`, `(?:`, `\]`, `)?`).Replace(regexp.QuoteMeta(template))
	re, err := regexp.Compile(`^` + variable.ReplaceAllString(source, `[^#]*`) + `$`)
	return err == nil && re.MatchString(key)
}
