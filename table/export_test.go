package table

import (
	"context"
	"time"
)

// SetSleep replaces the function with which a table waits between retries.
func SetSleep(t *Table, sleep func(context.Context, time.Duration) error) { t.sleep = sleep }
