package cmdenv

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// SiteError adds advice to the error for a site that does not exist, or whose ID no site can have.
func SiteError(id string, err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return fmt.Errorf("no_such_site: there is no site %q; `onefold site list` lists all sites", id)
	}
	return err
}
