package analytics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/analytics/internal/texts"
)

// Settings are what the people of a site may change at any time. Earlier counts are unaffected.
type Settings struct {
	Name     string `dynamodbav:"name,omitempty"`     // display name; "": the ID
	Currency string `dynamodbav:"currency,omitempty"` // ISO 4217, for all revenue; "": DefaultCurrency
	Public   bool   `dynamodbav:"public,omitempty"`   // statistics are readable by everybody
	// CustomProperties are the event properties that are dimensions, at most MaxCustomProperties.
	// Events are counted by the properties listed at their arrival.
	CustomProperties []string `dynamodbav:"customProperties,omitempty"`
}

// DefaultCurrency is the currency of sites that did not choose one.
const DefaultCurrency = "EUR"

// The bounds of settings.
const (
	MaxCustomProperties = 10
	maxSiteName         = 200 // bytes
)

// check validates and normalizes settings. Errors: ErrSite.
func (s *Settings) check() error {
	if len(s.Name) > maxSiteName || texts.Valid(s.Name) != s.Name {
		return fmt.Errorf("%w: name: use at most %d bytes of UTF-8", ErrSite, maxSiteName)
	}
	if s.Currency = strings.ToUpper(s.Currency); s.Currency != "" && (len(s.Currency) != 3 || strings.Trim(s.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
		return fmt.Errorf("%w: currency %q: use an ISO 4217 code such as EUR", ErrSite, s.Currency)
	}
	if len(s.CustomProperties) > MaxCustomProperties {
		return fmt.Errorf("%w: %d custom properties: use at most %d", ErrSite, len(s.CustomProperties), MaxCustomProperties)
	}
	for i, name := range s.CustomProperties {
		if name == "" || len(name) > maxPropertyName || strings.ContainsAny(name, `#|\`) || texts.Valid(name) != name {
			return fmt.Errorf("%w: custom property %q: use 1 to %d bytes without # | \\", ErrSite, texts.Clip(name, maxPropertyName), maxPropertyName)
		}
		if slices.Contains(s.CustomProperties[:i], name) {
			return fmt.Errorf("%w: custom property %q is listed twice", ErrSite, name)
		}
	}
	return nil
}

// Dimensions returns all dimensions of the site, including its custom properties.
func (s *Site) Dimensions() []Dimension {
	all := slices.Clone(Dimensions)
	for _, name := range s.CustomProperties {
		all = append(all, ByProperty(name))
	}
	return all
}

// Breakdowns returns all dimensions with stored breakdowns: those of reports and of web vitals.
func (s *Site) Breakdowns() []Dimension {
	return append(s.Dimensions(), VitalsByPage, VitalsByDevice)
}

// stamp stores in an event what it counts by the current goals and settings, for the folds.
func (s *siteState) stamp(e *Event) {
	if e.silent() {
		return
	}
	e.Goals = s.goals.Of(e)
	if len(e.Properties) == 0 {
		return
	}
	for _, name := range s.site.CustomProperties {
		if e.Properties[name] != "" {
			e.Counted = append(e.Counted, name)
		}
	}
}

// ByProperty returns the dimension of a custom property.
func ByProperty(name string) Dimension { return dimension.Property + Dimension(name) }
