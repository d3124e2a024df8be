package engine

import "github.com/onefold/onefold/engine/internal/row"

// ErrCorrupt is returned when bytes on disk do not have the documented form.
var ErrCorrupt = row.ErrCorrupt
