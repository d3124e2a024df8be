package explore

import (
	"context"
	"fmt"
)

// stay is what a retention report knows of a user.
type stay struct {
	start int // number of the week or day in which the user began
	did   periods
}

// retentionOfDeeds is Retention for users who did something first, or who did something again. Both are
// days: what a user did on the day of the beginning counts, whether it was before or after it.
func (x *Explorer) retentionOfDeeds(ctx context.Context, in *RetentionIn, number func(day string) int) (map[uint64]stay, []string, error) {
	began, err := deedOf(in.Began)
	if err != nil {
		return nil, nil, err
	}
	again, err := deedOf(in.Again)
	if err != nil {
		return nil, nil, err
	}
	s, err := x.scan(ctx, in.Range, in.Filters)
	if err != nil {
		return nil, nil, err
	}
	users := map[uint64]stay{}
	err = s.each(ctx, func(day string, d *columns) error {
		n := number(day)
		chosen := d.chosen(s.conditions)
		d.eachUser(chosen, began, func(who uint64) {
			if _, known := users[who]; !known {
				users[who] = stay{start: n}
			}
		})
		d.eachUser(chosen, again, func(who uint64) {
			if u, known := users[who]; known {
				u.did = u.did.with(n)
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

// deedOf compiles what users do; nil if being seen suffices. Errors: ErrQuestion.
func deedOf(f *Filter) (*condition, error) {
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

// eachUser calls use for the users of chosen visits in which something was done, nil for all.
func (d *columns) eachUser(chosen []int, deed *condition, use func(who uint64)) {
	times := func(int) int64 { return 1 }
	if deed != nil {
		times = d.times(deed)
	}
	for _, v := range chosen {
		if who := d.userOf(v); who != 0 && times(v) > 0 {
			use(who)
		}
	}
}
