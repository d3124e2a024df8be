package explore

import (
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// Schema holds the entities of this package and of package analytics.
var Schema = table.MustSchema("explore", analytics.Schema, Funnels, FunnelsOfSite)
