package explore

// progress is how far a question has come.
type progress struct {
	done, of int // days
}

// Progress is how many of the days that questions about a site's raw events ask for were looked at, of those that are
// being answered now or wait for their turn. Nobody asks: 0 of 0.
func (x *Explorer) Progress(site string) (done, of int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for s := range x.asked {
		if s.site.SiteID == site {
			done += s.progress.done
			of += s.progress.of
		}
	}
	return done, of
}

// begin notes that a question waits for an answer, until end is called.
func (s *scan) begin(days int) (end func()) {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.progress.of = days
	s.x.asked[s] = true
	return func() {
		s.x.mu.Lock()
		defer s.x.mu.Unlock()
		delete(s.x.asked, s)
	}
}

// looked notes that one more day was looked at.
func (s *scan) looked() {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.progress.done++
}
