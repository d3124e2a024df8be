package explore

import (
	"context"
	"fmt"
)

// member is a user of a cohort.
type member struct {
	start  int // number of the cohort's week or day
	active periods
}

// retentionOfActions is Retention with Began or Again. It compares days, not times: on the day on which
// a user begins, Again counts even if it came first.
func (x *Explorer) retentionOfActions(ctx context.Context, in *RetentionIn, number func(day string) int) (map[uint64]member, []string, error) {
	began, err := actionOf(in.Began)
	if err != nil {
		return nil, nil, err
	}
	again, err := actionOf(in.Again)
	if err != nil {
		return nil, nil, err
	}
	s, err := x.scan(ctx, in.Range, in.Filters)
	if err != nil {
		return nil, nil, err
	}
	users := map[uint64]member{}
	err = s.each(ctx, func(day string, d *columns) error {
		n := number(day)
		chosen := d.chosen(s.conditions)
		d.eachUser(chosen, began, func(who uint64) {
			if _, known := users[who]; !known {
				users[who] = member{start: n}
			}
		})
		d.eachUser(chosen, again, func(who uint64) {
			if u, known := users[who]; known {
				u.active = u.active.with(n)
				users[who] = u
			}
		})
		if len(users) > x.o.Users {
			return fmt.Errorf("%w: there are more than %d users; request fewer days", ErrTooMuch, x.o.Users)
		}
		return ctx.Err()
	})
	return users, append([]string{}, s.notes()...), err
}

// actionOf compiles an action of users; nil stands for any visit. Errors: ErrQuestion.
func actionOf(f *Filter) (*condition, error) {
	if f == nil {
		return nil, nil
	}
	if _, _, behaves, _ := f.Behavior(); behaves || f.Dimension == BySegment {
		return nil, fmt.Errorf("%w: %s is not something that users do; use a dimension such as event, page or goal", ErrQuestion, f)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := f.checkBehavior(f.Dimension); err != nil {
		return nil, err
	}
	return f.compile()
}

// eachUser calls use with the user of each chosen visit that has the action; nil stands for any visit. A
// user with several such visits is passed several times.
func (d *columns) eachUser(chosen []int, action *condition, use func(who uint64)) {
	times := func(int) int64 { return 1 }
	if action != nil {
		times = d.times(action)
	}
	for _, v := range chosen {
		if who := d.userOf(v); who != 0 && times(v) > 0 {
			use(who)
		}
	}
}
