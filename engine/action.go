package engine

import (
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// verb says what an action does.
type verb int

const (
	verbPut verb = iota
	verbUpdate
	verbDelete
	verbCheck
)

// action is one write as a request asks for it: checked as far as that goes without the table.
type action struct {
	verb   verb
	table  *string
	keyed  item.Item // the whole item of a put, the key of the others
	cond   *expr.Condition
	update *expr.Update
	all    bool // tell the item when the condition fails

	source request.Expressions

	s   *schema
	key []byte // row key
}

// bind parses the expressions of an action.
func (db *DB) bind(a *action, e request.Expressions) error {
	a.source = e
	if e.Update == nil && e.Condition == nil {
		return nil
	}
	b, err := expr.NewBindings(e.Names, e.Values)
	if err != nil {
		return asValidation(err)
	}
	if e.Update != nil {
		if a.update, err = db.parser.Update(*e.Update, b); err != nil {
			return asValidation(err)
		}
	}
	if e.Condition != nil {
		if a.cond, err = db.parser.Condition(expr.ConditionExpression, *e.Condition, b); err != nil {
			return asValidation(err)
		}
	}
	return asValidation(b.CheckUnused())
}

// normalize checks the values of an item or key and makes its numbers canonical.
func normalize(it item.Item) (item.Item, error) {
	n, err := item.Normalize(it)
	if err != nil {
		return nil, dynamo.Validation("%s", err.Error())
	}
	return n, nil
}

// resolve checks an action against its table's schema and makes the row key.
func (a *action) resolve(c *commit, s *schema) error {
	a.s = s
	if a.verb == verbPut {
		if err := s.desc.CheckItem(a.keyed); err != nil {
			return err
		}
		if item.Size(a.keyed) > catalog.MaxItemBytes {
			return dynamo.Validation("Item size has exceeded the maximum allowed size")
		}
	} else if err := s.desc.CheckKey(a.keyed); err != nil {
		return err
	}
	if a.update != nil {
		if err := s.checkUpdate(a.update); err != nil {
			return err
		}
	}
	if a.cond != nil {
		if err := s.desc.CheckScalars(a.cond.NestedNames()); err != nil {
			return err
		}
	}
	at := len(c.buf)
	buf, err := s.appendItemKey(c.buf, a.keyed)
	if err != nil {
		return err
	}
	c.buf = buf
	a.key = c.buf[at:len(c.buf):len(c.buf)]
	return nil
}

// checkUpdate refuses an update of key attributes.
func (s *schema) checkUpdate(u *expr.Update) error {
	for _, name := range u.Roots() {
		if name == s.hash.Name || name == s.rng.Name {
			return dynamo.Validation("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)
		}
	}
	return s.desc.CheckScalars(u.NestedRoots())
}

// perform evaluates an action against the item as it is and stages what it changes. The caller holds the stripe.
func (c *commit) perform(a *action) (*change, error) {
	ch, err := c.look(a.s, a.key, a.keyed)
	if err != nil {
		return nil, err
	}
	if err := a.check(ch); err != nil {
		return nil, err
	}
	if a.verb == verbCheck {
		ch.row, ch.use.Table = ch.old, capacity.WriteUnits(row.Size(ch.old))
		return ch, nil
	}
	if err := c.transform(a, ch); err != nil {
		return nil, err
	}
	return ch, c.stage(ch)
}

// check evaluates the action's condition.
func (a *action) check(ch *change) error {
	if a.cond == nil {
		return nil
	}
	old, err := ch.before()
	if err != nil {
		return err
	}
	ok, err := a.cond.Eval(old)
	if err != nil {
		return asValidation(err)
	}
	if ok {
		return nil
	}
	ch.use.Table = capacity.WriteUnits(row.Size(ch.old))
	ch.meterChange()
	if !a.all {
		old = nil
	}
	return errCondition(old)
}

// transform sets the item after the action.
func (c *commit) transform(a *action, ch *change) error {
	switch a.verb {
	case verbPut:
		c.put(ch, a.keyed)
	case verbUpdate:
		return c.updateItem(a, ch)
	}
	return nil
}

func (c *commit) updateItem(a *action, ch *change) error {
	old, err := ch.before()
	if err != nil {
		return err
	}
	base := old
	switch {
	case a.update != nil && old == nil:
		base, err = a.update.Create(a.keyed)
	case a.update != nil:
		base, err = a.update.Apply(old)
	case old == nil:
		base = a.keyed
	}
	if err != nil {
		return asValidation(err)
	}
	if err := a.s.desc.CheckIndexKeys(base); err != nil {
		return err
	}
	c.put(ch, base)
	if row.Size(ch.row) > catalog.MaxItemBytes {
		return dynamo.Validation("Item size to update has exceeded the maximum allowed size")
	}
	return nil
}
