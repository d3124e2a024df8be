package engine

import (
	"errors"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// action is one write of a running request.
type action struct {
	request.Write
	s    *schema
	key  []byte // row key
	size int    // of the item of a put, in bytes; 0: not computed yet
}

func actionsOf(writes []request.Write) []action {
	actions := make([]action, len(writes))
	for i, w := range writes {
		actions[i].Write = w
	}
	return actions
}

// resolve checks an action against its table's schema and computes the row key.
func (a *action) resolve(c *commit, s *schema) error {
	a.s = s
	if a.Verb == request.Put {
		if err := s.desc.CheckItem(a.Keyed); err != nil {
			return err
		}
		if a.size == 0 {
			a.size = item.Size(a.Keyed)
		}
		if a.size > request.MaxItemBytes {
			return request.Invalid(request.ItemTooLarge)
		}
	} else if err := s.desc.CheckKey(a.Keyed); err != nil {
		return err
	}
	if a.Update != nil {
		if err := s.checkUpdate(a.Update); err != nil {
			return err
		}
	}
	if a.Cond != nil {
		if err := s.desc.CheckScalars(a.Cond.NestedNames()); err != nil {
			return err
		}
	}
	at := len(c.buf)
	buf, err := s.AppendItemKey(c.buf, a.Keyed)
	if err != nil {
		return err
	}
	c.buf = buf
	a.key = c.buf[at:len(c.buf):len(c.buf)]
	return nil
}

// checkUpdate rejects updates of key attributes.
func (s *schema) checkUpdate(u *expr.Update) error {
	for _, name := range u.Roots() {
		if name == s.Hash.Name || name == s.Range.Name {
			return dynamo.Validation("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)
		}
	}
	return s.desc.CheckScalars(u.NestedRoots())
}

// perform applies an action to the current item and stages the changed rows. The caller must hold
// the stripe.
func (c *commit) perform(a *action) (*change, error) {
	ch, err := c.loadChange(a.s, a.key, a.Keyed)
	if err != nil {
		return nil, err
	}
	if err := a.check(ch, c.now/1000); err != nil {
		return nil, err
	}
	if a.Verb == request.ConditionCheck {
		ch.row, ch.use.Table = ch.old, capacity.WriteUnits(row.Size(ch.old))
		return ch, nil
	}
	if err := c.transform(a, ch); err != nil {
		return nil, err
	}
	return ch, c.stage(ch)
}

// check evaluates the action's condition. second is the current time in seconds since 1970.
func (a *action) check(ch *change, second int64) error {
	if a.Cond == nil {
		return nil
	}
	old, err := ch.before()
	if err != nil {
		return err
	}
	ok, err := a.Cond.Eval(old)
	if err != nil {
		return err
	}
	if ok {
		return nil
	}
	ch.use.Table = capacity.WriteUnits(row.Size(ch.old))
	ch.meterChange(second)
	if !a.Tell {
		old = nil
	}
	return request.FailedCondition(old)
}

// transform computes the item after the action.
func (c *commit) transform(a *action, ch *change) error {
	switch a.Verb {
	case request.Put:
		c.put(ch, a.Keyed, a.size)
	case request.Update:
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
	case a.Update != nil && old == nil:
		base, err = a.Update.Create(a.Keyed)
	case a.Update != nil:
		base, err = a.Update.Apply(old)
	case old == nil:
		base = a.Keyed
	}
	if a.Legacy && errors.Is(err, expr.ErrWrongType) {
		return request.Invalid("Type mismatch for attribute to update")
	}
	if err != nil || base == nil {
		return err
	}
	if err := a.s.desc.CheckIndexKeys(base); err != nil {
		return err
	}
	c.put(ch, base, item.Size(base))
	if row.Size(ch.row) > request.MaxItemBytes {
		return dynamo.Validation("Item size to update has exceeded the maximum allowed size")
	}
	return nil
}
