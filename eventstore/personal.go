package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// ErrUnsealed is returned by a store without Options.Secrets on a table with crypto-shredding, if
// it would append an event with personal fields or save a snapshot, or use reservations after the
// table's secret was encrypted. Nothing was stored.
var ErrUnsealed = errors.New("eventstore: this table has encrypted personal fields, but this store has no keys: open it with Options.Secrets")

// PersonalRule declares the personal fields of an event type; see shred.Personal.
type PersonalRule struct {
	Event    string   `dynamodbav:"event"`
	Subject  string   `dynamodbav:"subject"`
	Fields   []string `dynamodbav:"fields,omitempty"`
	Metadata []string `dynamodbav:"metadata,omitempty"`
}

// Check validates a rule: it has personal fields, and none of them contains the subject, which would
// be encrypted with its own key. Errors: ErrInvalid.
func (r *PersonalRule) Check() error {
	subject := strings.Split(r.Subject, ".")
	switch {
	case r.Event == "" || len(r.Fields)+len(r.Metadata) == 0:
		return fmt.Errorf("%w: event type %q has no personal fields", ErrInvalid, r.Event)
	case slices.Contains(subject, "*"):
		return fmt.Errorf("%w: the subject of event type %q must be one field, not %q", ErrInvalid, r.Event, r.Subject)
	}
	for _, path := range append([]string{r.Subject}, r.Fields...) {
		if slices.Contains(strings.Split(path, "."), "") {
			return fmt.Errorf("%w: %q of event type %q is not a path such as address.street", ErrInvalid, path, r.Event)
		}
	}
	for _, path := range r.Fields {
		if within(subject, strings.Split(path, ".")) {
			return fmt.Errorf("%w: the subject of event type %q is inside its personal field %q and would be encrypted", ErrInvalid, r.Event, path)
		}
	}
	return nil
}

// within reports whether a path leads to a field or into it. * in field stands for any name.
func within(path, field []string) bool {
	if len(field) > len(path) {
		return false
	}
	for i, name := range field {
		if name != "*" && name != path[i] {
			return false
		}
	}
	return true
}

// maxPersonalBytes is the maximum size of all rules of a table: stores read them every 3 seconds.
const maxPersonalBytes = 64 << 10

// checkRules validates all rules of a table together. Errors: ErrInvalid.
func checkRules(rules []PersonalRule) error {
	bytes := 0
	for i := range rules {
		r := &rules[i]
		if err := r.Check(); err != nil {
			return err
		}
		for _, text := range slices.Concat([]string{r.Event, r.Subject}, r.Fields, r.Metadata) {
			bytes += len(text)
		}
	}
	for _, a := range rules {
		for _, b := range rules {
			if a.Event == b.Event && slices.ContainsFunc(b.Fields, func(f string) bool { return within(strings.Split(a.Subject, "."), strings.Split(f, ".")) }) {
				return fmt.Errorf("%w: the subject %q of event type %q is personal data of %q", ErrInvalid, a.Subject, a.Event, b.Subject)
			}
		}
	}
	if bytes > maxPersonalBytes {
		return fmt.Errorf("%w: the personal fields of all event types take more than %d bytes: declare an object that contains several fields, instead of each", ErrInvalid, maxPersonalBytes)
	}
	return nil
}

// DeclarePersonal adds to the table's rules that some fields are personal. Declarations are
// permanent. Other stores use the previous rules for some more seconds: before sealing, wait for
// Rules.Wait, even if the rules were already changed. Errors: ErrInvalid if a rule is invalid, alone
// or together with those of the table.
func DeclarePersonal(ctx context.Context, t *table.Table, add []PersonalRule) error {
	if len(add) == 0 {
		return nil
	}
	r, err := RulesNow.Get(ctx, t, RulesKey{})
	if errors.Is(err, table.ErrNotFound) {
		created := Rules{Personal: mergeRules(nil, add)}
		if err := checkRules(created.Personal); err != nil {
			return err
		}
		if err = TableRules.Create(ctx, t, &created); !errors.Is(err, table.ErrExists) {
			return err // nobody has read rules yet: no wait
		}
		r, err = RulesNow.Get(ctx, t, RulesKey{})
	}
	if err != nil || slices.EqualFunc(mergeRules(r.Personal, add), r.Personal, sameRule) {
		return err
	}
	_, err = TableRules.Modify(ctx, t, RulesKey{}, func(r *Rules) error {
		merged := mergeRules(r.Personal, add)
		if slices.EqualFunc(merged, r.Personal, sameRule) {
			return nil // another key store was faster, and recorded from when to rely on them
		}
		if err := checkRules(merged); err != nil {
			return err
		}
		latest := min(r.HeldUntil+holdMargin.Milliseconds(), t.Now().Add(maxWait).UnixMilli())
		r.Personal, r.ReliedFrom = merged, max(r.ReliedFrom, latest)
		return nil
	})
	return err
}

func sameRule(a, b PersonalRule) bool {
	return a.Event == b.Event && a.Subject == b.Subject && slices.Equal(a.Fields, b.Fields) && slices.Equal(a.Metadata, b.Metadata)
}

// mergeRules adds rules. A field is personal if any rule says so.
func mergeRules(rules, add []PersonalRule) []PersonalRule {
	rules = slices.Clone(rules)
	for _, a := range add {
		i := slices.IndexFunc(rules, func(r PersonalRule) bool { return r.Event == a.Event && r.Subject == a.Subject })
		if i < 0 {
			rules = append(rules, a)
			continue
		}
		rules[i].Fields = union(rules[i].Fields, a.Fields)
		rules[i].Metadata = union(rules[i].Metadata, a.Metadata)
	}
	return rules
}

func union(a, b []string) []string {
	a = slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// unsealed returns ErrUnsealed if a store without secrets must not store this.
func (s *Store) unsealed(ctx context.Context, personal func(PersonalRule) bool) error {
	if s.o.Secrets != nil {
		return nil
	}
	r, err := s.held.Get(ctx, s.t)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(r.Personal, personal); i >= 0 {
		return fmt.Errorf("%w: event type %q", ErrUnsealed, r.Personal[i].Event)
	}
	return nil
}
