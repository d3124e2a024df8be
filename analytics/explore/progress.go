package explore

// progress is the progress of a question.
type progress struct {
	done, of int // days
}

// Progress returns how many days of a site's current questions on raw events are done, and their
// total. Questions that wait for their turn are included. Without questions it returns 0, 0.
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

// begin registers a question until end is called.
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

// looked counts a completed day.
func (s *scan) looked() {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.progress.done++
}
