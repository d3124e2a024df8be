//go:build !unix

package spool

import (
	"fmt"
	"os"
)

// lockFile does not lock on systems without flock.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return f, nil
}
