package traffic

// Kind is the kind of site.
type Kind uint8

// The kinds.
const (
	Company Kind = iota // a product with documentation and a blog, read in office hours
	Shop                // a shop, visited in the evening and at weekends, mostly from campaigns and social networks
)

// profile is what distinguishes the kinds.
type profile struct {
	fixed    []page // pages that every site of the kind has, most popular first
	customs  []weighted[custom]
	sources  []weighted[source]
	daily    [24]float64 // relative number of visits that begin in each hour of the day (UTC)
	weekly   [7]float64  // and on each day of the week, from Sunday
	actions  float64     // share of the steps after the first that are custom events
	articles func(i int) page
}

func (k Kind) profile() profile {
	if k == Shop {
		return profile{shopPages[:], shopCustoms, shopSources, shopDaily, shopWeekly, 0.14, productAt}
	}
	return profile{fixedPages[:], customs, sources, daily, weekly, 0.05, articleAt}
}
