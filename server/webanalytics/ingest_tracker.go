package webanalytics

import (
	"errors"
	"net/http"
	"path"
	"strings"

	"github.com/onefold/onefold/server/tracker"
)

// trackerPath is the default path of the tracker.
const trackerPath = "/js/" + tracker.Main

// trackerRoutes serves the tracker's scripts, at the default path and at the configured one.
func (s *Service) trackerRoutes(mux *http.ServeMux) error {
	main, err := tracker.Load(tracker.Main)
	if err != nil {
		return err
	}
	for _, at := range s.mainScripts() {
		mux.Handle("GET "+at, main)
	}
	for _, part := range tracker.Parts {
		script, err := tracker.Load(tracker.Further(tracker.Main, part))
		if err != nil {
			return err
		}
		for _, at := range s.mainScripts() {
			mux.Handle("GET "+tracker.Further(at, part), script)
		}
	}
	return nil
}

// mainScripts returns the paths of the tracker.
func (s *Service) mainScripts() []string {
	if s.o.TrackerPath == "" {
		return []string{trackerPath}
	}
	return []string{trackerPath, s.o.TrackerPath}
}

// Scripts returns the paths of all tracker scripts.
func (s *Service) Scripts() (paths []string) {
	for _, at := range s.mainScripts() {
		paths = append(paths, at)
		for _, part := range tracker.Parts {
			paths = append(paths, tracker.Further(at, part))
		}
	}
	return paths
}

// checkAliases rejects configured paths that conflict with the server's own.
func (o *Options) checkAliases() error {
	for _, p := range []string{o.TrackerPath, o.EventPath} {
		if p == "" {
			continue
		}
		if !strings.HasPrefix(p, "/") || p == "/" || path.Clean(p) != p || strings.ContainsAny(p, "{} ?#") ||
			strings.HasPrefix(p, "/api/v1/") || p == trackerPath || p == eventPath || p == eventsPath || p == pixelPath {
			return errors.New("server: path " + p + ": choose a path like /js/numbers.js or /numbers that the server does not use itself")
		}
	}
	if o.TrackerPath != "" && o.TrackerPath == o.EventPath {
		return errors.New("server: the tracker and events need different paths")
	}
	return nil
}
