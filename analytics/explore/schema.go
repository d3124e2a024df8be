package explore

import (
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// Schema is all that this package asks, beside what it is asked of.
var Schema = table.MustSchema("explore", analytics.Schema, Funnels, FunnelsOfSite)
