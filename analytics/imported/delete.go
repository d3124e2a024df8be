package imported

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ErrDeleting is returned for an import that is being deleted.
var ErrDeleting = errors.New("imported: the import is being deleted")

// Delete deletes an import and all its counts. The import stops counting at once. If Delete is
// interrupted, call it again. Days that another import also covered are not counted until that
// import is run again. Errors: table.ErrNotFound.
func Delete(ctx context.Context, t *table.Table, key ImportKey) error {
	im, err := Imports.Modify(ctx, t, key, func(im *Import) error {
		im.State = Deleting
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete import %s of %s: %w", key.ImportID, key.SiteID, err)
	}
	for _, d := range im.Dimensions {
		in := DaysIn{key.SiteID, d, im.From, calendar.ShiftDay(im.To, 1)}
		for day, err := range DaysByTime.All(ctx, t, in) {
			if err != nil {
				return err
			}
			if day.ImportID != key.ImportID {
				continue
			}
			if err := Days.Delete(ctx, t, day.DayKey, importOfDay.Eq(key.ImportID)); err != nil && !errors.Is(err, table.ErrCondition) {
				return err
			}
		}
		in.From, in.To = calendar.MonthOf(im.From), calendar.MonthAfter(calendar.MonthOf(im.To))
		for month, err := range MonthsByTime.All(ctx, t, in) {
			if err != nil {
				return err
			}
			if month.ImportID == key.ImportID {
				if err := Months.Delete(ctx, t, month.MonthKey); err != nil {
					return err
				}
			}
		}
	}
	return Imports.Delete(ctx, t, key)
}
