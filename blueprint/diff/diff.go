// Package diff compares two versions of a design, and determines which changes are compatible and
// what the others require for a table that already holds data.
package diff

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/table"
)

// Kind is the effect of a change on a table that holds items.
type Kind string

// The kinds, worst first.
const (
	Breaks     Kind = "breaks"     // stored items can no longer be found or read
	NeedsIndex Kind = "index"      // an index must be created or deleted
	Backfill   Kind = "backfill"   // stored items must be rewritten
	Compatible Kind = "compatible" // nothing needs to be done
)

// Kinds returns all kinds, worst first.
func Kinds() []Kind { return []Kind{Breaks, NeedsIndex, Backfill, Compatible} }

// Finding is one change.
type Finding struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"`
	Do   string `json:"do"`
}

// Compare returns the changes from one version to another, worst first.
func Compare(before, after *blueprint.Outline) []Finding {
	c := &comparison{before: before, after: after}
	c.indexes()
	for i := range after.Entities {
		e := &after.Entities[i]
		if was := entity(before, e.Name); was != nil {
			c.entity(was, e)
		} else {
			c.add(Compatible, "entity %s is new", e.Name)("nothing: it has no stored items")
		}
	}
	for i := range before.Entities {
		if e := &before.Entities[i]; entity(after, e.Name) == nil {
			c.add(Breaks, "entity %s was removed", e.Name)("its items stay in the table unread: delete them first, or keep the entity until they have expired")
		}
	}
	c.patterns()
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Compare(slices.Index(Kinds(), a.Kind), slices.Index(Kinds(), b.Kind))
	})
	return c.found
}

type comparison struct {
	before, after *blueprint.Outline
	found         []Finding
}

// add returns a function that adds a finding with the given remedy.
func (c *comparison) add(kind Kind, what string, args ...any) func(do string) {
	return func(do string) { c.found = append(c.found, Finding{kind, fmt.Sprintf(what, args...), do}) }
}

func entity(o *blueprint.Outline, name string) *blueprint.OutlineEntity {
	for i := range o.Entities {
		if o.Entities[i].Name == name {
			return &o.Entities[i]
		}
	}
	return nil
}

func (c *comparison) indexes() {
	for _, name := range c.after.Indexes {
		if !slices.Contains(c.before.Indexes, name) {
			c.add(NeedsIndex, "index %s is new", name)("create it before you release the code, one index per update; DynamoDB fills it with the items that have its keys")
		}
	}
	for _, name := range c.before.Indexes {
		if !slices.Contains(c.after.Indexes, name) {
			c.add(NeedsIndex, "index %s was removed", name)("delete it once no running release queries it; until then every write pays for it")
		}
	}
}

// changed reports whether both values are known and differ.
func changed(was, is string) bool { return was != "" && is != "" && was != is }

func (c *comparison) entity(was, is *blueprint.OutlineEntity) {
	const moves = "stored items keep their old keys and are not found under the new keys: copy each item to its new key, read both in the meantime, then delete the old items; rebuild derived items"
	if changed(was.PK, is.PK) {
		c.add(Breaks, "%s: pk was %s, is %s", is.Name, was.PK, is.PK)(moves)
	}
	if changed(was.SK, is.SK) {
		c.add(Breaks, "%s: sk was %s, is %s", is.Name, was.SK, is.SK)(moves)
	}
	c.attributes(is.Name, was.Key, is.Key, true)
	if len(was.Attributes) > 0 {
		c.attributes(is.Name, was.Attributes, is.Attributes, false)
	}
	c.placements(was, is)
	switch {
	case is.Expires && !was.Expires:
		c.add(Backfill, "%s: items now expire", is.Name)("stored items have no TTL and never expire: rewrite or delete them")
	case was.Expires && !is.Expires:
		c.add(Backfill, "%s: items no longer expire", is.Name)("stored items still have a TTL and will be deleted: rewrite the items to keep before they expire")
	}
	if c.before.Partial || c.after.Partial {
		return
	}
	if is.Immutable && !was.Immutable {
		c.add(Compatible, "%s: items are now immutable", is.Name)("nothing: stored items stay; code that changes them no longer compiles")
	}
	if is.MaxBytes > 0 && (was.MaxBytes == 0 || is.MaxBytes < was.MaxBytes) {
		c.add(Backfill, "%s: items have at most %d bytes", is.Name, is.MaxBytes)("larger items can be read but not written: find and split them")
	}
}

// placements compares the index keys of an entity.
func (c *comparison) placements(was, is *blueprint.OutlineEntity) {
	for _, x := range is.Indexes {
		i := slices.IndexFunc(was.Indexes, func(o table.IndexInfo) bool { return o.Name == x.Name })
		if i < 0 {
			c.add(Backfill, "%s: items are now on %s, as %s / %s", is.Name, x.Name, x.PK, x.SK)("stored items do not have these keys: rewrite them so that queries find them")
			continue
		}
		if o := was.Indexes[i]; changed(o.PK, x.PK) || changed(o.SK, x.SK) {
			c.add(Backfill, "%s: keys on %s were %s / %s, are %s / %s", is.Name, x.Name, o.PK, o.SK, x.PK, x.SK)("stored items have the old keys: rewrite them; until then query both")
		} else if o.Conditional != x.Conditional && o.PK != "" && x.PK != "" {
			c.add(Backfill, "%s: the condition for items on %s has changed", is.Name, x.Name)("stored items follow the old condition: rewrite them")
		}
	}
	for _, o := range was.Indexes {
		if !slices.ContainsFunc(is.Indexes, func(x table.IndexInfo) bool { return x.Name == o.Name }) {
			c.add(Backfill, "%s: items are no longer on %s", is.Name, o.Name)("stored items stay on the index, and are paid for, until they are rewritten")
		}
	}
}

func (c *comparison) attributes(name string, was, is []table.AttributeInfo, key bool) {
	of := "attribute"
	if key {
		of = "key variable"
	}
	for _, a := range is {
		i := slices.IndexFunc(was, func(o table.AttributeInfo) bool { return o.Name == a.Name })
		switch {
		case i >= 0 && changed(word(was[i].Type), word(a.Type)):
			c.add(Breaks, "%s: %s %s was a %s, is a %s", name, of, a.Name, word(was[i].Type), word(a.Type))("stored items cannot be read: give the attribute a new name, or rewrite all items first")
		case i >= 0 || key || a.Name == table.AttrTTL: // expiry is reported separately
		case a.Optional || c.before.Partial:
			c.add(Compatible, "%s: attribute %s is new", name, a.Name)("nothing: stored items are read without it")
		default:
			c.add(Backfill, "%s: attribute %s is new and required", name, a.Name)("stored items are read with its zero value: rewrite them where the zero value is wrong")
		}
	}
	for _, o := range was {
		if !key && !c.after.Partial && o.Name != table.AttrTTL && !slices.ContainsFunc(is, func(a table.AttributeInfo) bool { return a.Name == o.Name }) {
			c.add(Compatible, "%s: attribute %s was removed", name, o.Name)("nothing: it is not read, and is dropped when an item is rewritten")
		}
	}
}

// word returns a type as it is stored, or "" if it is unknown or, as for times, could be text or a
// number.
func word(goType string) string {
	if goType == "" || goType == "time.Time" {
		return ""
	}
	return blueprint.TypeWord(goType)
}

func (c *comparison) patterns() {
	find := func(o *blueprint.Outline, id string) *blueprint.OutlinePattern {
		i := slices.IndexFunc(o.Patterns, func(p blueprint.OutlinePattern) bool { return p.ID == id })
		if i < 0 {
			return nil
		}
		return &o.Patterns[i]
	}
	if len(c.before.Patterns) == 0 || len(c.after.Patterns) == 0 {
		return // one of the designs comes from a format without it
	}
	for i := range c.after.Patterns {
		p := &c.after.Patterns[i]
		was := find(c.before, p.ID)
		switch {
		case was == nil && p.Index != "" && !slices.Contains(c.before.Indexes, p.Index):
			c.add(NeedsIndex, "pattern %s (%s) is new and uses the new index %s", p.ID, p.Question, p.Index)("release the code once the index is active and filled")
		case was == nil:
			c.add(Compatible, "pattern %s (%s) is new", p.ID, p.Question)("nothing; check its units against the capacity")
		case was.Operation != p.Operation || was.Index != p.Index || was.PK != p.PK || was.Condition != p.Condition:
			c.add(Compatible, "pattern %s (%s) has changed: %s", p.ID, p.Question, strings.TrimSpace(p.Operation+" "+p.Index+" "+p.PK+" "+p.Condition))("nothing, if the items it now reads are stored: see the changes of its entity")
		}
	}
	for i := range c.before.Patterns {
		if p := &c.before.Patterns[i]; find(c.after, p.ID) == nil {
			c.add(Compatible, "pattern %s (%s) was removed", p.ID, p.Question)("nothing, once no code uses it")
		}
	}
}

// Worst returns the worst kind among findings, or Compatible if there are none.
func Worst(found []Finding) Kind {
	if len(found) == 0 {
		return Compatible
	}
	return found[0].Kind
}

var headings = map[Kind]string{
	Breaks: "Breaks stored items", NeedsIndex: "Needs an index change", Backfill: "Needs a backfill", Compatible: "Compatible",
}

// printable replaces control characters, so that text from a file cannot affect the terminal.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return unicode.ReplacementChar
	}
	return r
}

// Text writes findings as Markdown.
func Text(w io.Writer, found []Finding) error {
	var b strings.Builder
	if len(found) == 0 {
		b.WriteString("Nothing has changed.\n")
	}
	for i, f := range found {
		if i == 0 || found[i-1].Kind != f.Kind {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "## %s\n\n", headings[f.Kind])
		}
		fmt.Fprintf(&b, "- %s\n  → %s\n", strings.Map(printable, f.What), f.Do)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
