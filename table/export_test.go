package table

import (
	"context"
	"time"
)

// SetSleep replaces the waits of a table's retries.
func SetSleep(t *Table, sleep func(context.Context, time.Duration) error) { t.sleep = sleep }
