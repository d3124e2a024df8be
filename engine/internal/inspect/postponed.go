package inspect

import "github.com/onefold/onefold/engine/internal/row"

// readPostponed reads the postponed changes of indexes.
func (c *checker) readPostponed() error {
	return c.each([]byte{row.SpacePostponed}, []byte{row.SpacePostponed + 1}, func(key, value []byte) error {
		p, err := row.ParsePostponed(value)
		if err != nil {
			c.find(Unreadable, nil, "", hex(key), "the postponed change cannot be read: an index will never say what its items say")
			return nil
		}
		c.late[string(p.Gone)], c.late[string(p.Key)] = true, true
		return nil
	})
}
