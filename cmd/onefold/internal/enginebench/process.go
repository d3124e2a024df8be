package enginebench

import (
	"context"
)

func (b *bench) takeOpening(ctx context.Context, dir string, report func(Result)) error { return nil }
