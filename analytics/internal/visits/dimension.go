package visits

import "github.com/onefold/onefold/analytics/internal/dimension"

// Dimension is a dimension of which a visit has one value; see dimension.OfVisit.
type Dimension struct {
	dimension.Name
	Of func(*Visit) *string
}

// Dimensions are these dimensions, in the order of their declarations.
var Dimensions = func() (all []Dimension) {
	own := map[dimension.Name]func(*Visit) *string{
		dimension.EntryPage: func(v *Visit) *string { return &v.Entry.Path },
		dimension.ExitPage:  func(v *Visit) *string { return &v.Exit.Path },
		dimension.Hostname:  func(v *Visit) *string { return &v.Host },
	}
	for _, d := range dimension.All {
		of := own[d.Name]
		if d.Of != nil {
			of = func(v *Visit) *string { return d.Of(&v.Traits) }
		}
		if of != nil {
			all = append(all, Dimension{d.Name, of})
		}
	}
	return all
}()
