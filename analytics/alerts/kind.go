package alerts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/onefold/onefold/internal/episode"
)

// Kind is what a rule looks for.
type Kind string

// The kinds of rules.
const (
	Spike   Kind = "spike"
	Drop    Kind = "drop"
	Silence Kind = "silence"
	Goal    Kind = "goal"
	Vital   Kind = "vital"
)

var vitals = []string{"lcp", "inp", "cls"}

// KindDef describes a kind of rule. Forms, flags and checks derive from it.
type KindDef struct {
	Kind   Kind     `json:"kind"`
	Label  string   `json:"label"`
	Help   string   `json:"help"`
	Fields []string `json:"fields" doc:"Settings that rules of this kind have, besides atLeast."`
	// Defaults of settings that are 0.
	Factor  float64 `json:"factor,omitempty" doc:"Default of factor."`
	AtLeast int64   `json:"atLeast" doc:"Default of atLeast."`
	Hours   int     `json:"hours,omitempty" doc:"Default of hours."`

	judge func(*judge, *Settings, hour) Judgement
}

// Kinds lists all kinds of rules.
var Kinds = []KindDef{
	{Spike, "Spike", "More visitors than usual for the weekday and hour.", []string{"factor", "for", "keepFor"}, 3, 50, 0, (*judge).spike},
	{Drop, "Drop", "Fewer visitors than usual for the weekday and hour.", []string{"factor", "for", "keepFor"}, 3, 20, 0, (*judge).drop},
	{Silence, "Silence", "No page views and events for some hours that usually have some.", []string{"hours", "for", "keepFor"}, 0, 20, 3, (*judge).silence},
	{Goal, "Goal stopped", "No conversions of a goal for some hours that usually have some.", []string{"goal", "hours", "for", "keepFor"}, 0, 5, 24, (*judge).goal},
	{Vital, "Web vital worse", "A web vital of a day is above a limit, or worse than in the four weeks before.", []string{"vital", "factor", "limit"}, 1.25, 100, 0, (*judge).vital},
}

func kindOf(name Kind) *KindDef {
	if i := slices.IndexFunc(Kinds, func(k KindDef) bool { return k.Kind == name }); i >= 0 {
		return &Kinds[i]
	}
	return nil
}

func kindNames() string {
	names := make([]string, len(Kinds))
	for i := range Kinds {
		names[i] = string(Kinds[i].Kind)
	}
	return strings.Join(names, ", ")
}

// full returns the settings with the defaults of the kind in place of zeros.
func (s Settings) full() Settings {
	k := kindOf(s.Kind)
	s.Factor, s.AtLeast, s.Hours = cmp.Or(s.Factor, k.Factor), cmp.Or(s.AtLeast, k.AtLeast), cmp.Or(s.Hours, k.Hours)
	return s
}

const hourMS = 3_600_000

// levels returns the thresholds of what judge returns. A spike or drop lasts until the number is halfway
// back to usual.
func (s Settings) levels() *episode.Levels[float64] {
	l := &episode.Levels[float64]{
		For: int64(s.For) * hourMS, KeepFor: int64(s.KeepFor) * hourMS, Cmp: func(a, b *float64) int { return cmp.Compare(*a, *b) },
	}
	switch s.Kind {
	case Spike:
		l.Raise, l.Clear = s.Factor, (1+s.Factor)/2
	case Drop:
		l.Below, l.Raise, l.Clear = true, 1/s.Factor, (1+1/s.Factor)/2
	case Vital:
		if l.Raise = s.Limit; s.Limit == 0 {
			l.Raise = s.Factor
		}
		l.Clear = l.Raise
	}
	return l
}
