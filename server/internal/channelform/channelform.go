// Package channelform documents forms of channels in the HTTP API, for all products.
package channelform

import (
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/table/delivery"
)

// Describe documents the kinds of channels and their settings in the schema of a form that embeds
// delivery.Settings and has a field kind.
func Describe(s *huma.Schema) *huma.Schema {
	s.Properties["kind"].Description = "One of: " + delivery.KindNames() + "."
	for i := range delivery.Kinds {
		k := &delivery.Kinds[i]
		for j := range k.Fields {
			f := &k.Fields[j]
			p := s.Properties[f.Name]
			p.Description = strings.TrimSpace(fmt.Sprintf("%s %s: %s", p.Description, k.Label, f.Help))
		}
	}
	s.Properties["url"].Description += " Callers who may not change the channel see only its host."
	return s
}
