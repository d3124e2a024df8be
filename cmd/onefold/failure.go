package main

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// siteError adds advice to the error for a site that does not exist.
func siteError(id string, err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("no_such_site: there is no site %q; `onefold site list` lists all sites", id)
	}
	return err
}
