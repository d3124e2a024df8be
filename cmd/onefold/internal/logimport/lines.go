package logimport

import (
	"iter"

	"github.com/onefold/onefold/internal/accesslog"
)

// lines are the lines of a log, or the rows of an export with the number of the line that each begins in. An error that
// wraps accesslog.ErrMalformed is of one line; any other is the last thing that comes.
type lines = iter.Seq2[accesslog.Line, error]
