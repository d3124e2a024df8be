package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/tail"
)

// follow imports lines as they are appended to logs, and runs the folds, until the process is
// interrupted.
func (c *importCommand) follow(ctx context.Context, std streams, g *globals) (*importSummary, error) {
	start := time.Now()
	summary := new(importSummary)
	err := g.withStore(ctx, std.err, tuning{works: true}, func(s *store) error {
		if err := logimport.EnsureSite(ctx, s.table, c.Site); err != nil {
			return err
		}
		logger := g.logger(std.err)
		ingester := analytics.NewCollector(s.table, analytics.CollectorOptions{})
		if err := c.followAll(ctx, std, g, ingester, summary, s.folds(logger, nil)...); err != nil || s.Shared { // with a shared table, other workers fold the rest
			return err
		}
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
		defer cancel()
		return s.worker.Drain(rest)
	})
	summary.Seconds.Total = time.Since(start).Seconds()
	summary.Seconds.Read = summary.Seconds.Total
	return summary, err
}

// followAll follows the files, runs further services, and adds up the results.
func (c *importCommand) followAll(ctx context.Context, std streams, g *globals, ingester logimport.Ingester, summary *importSummary, services ...service) error {
	if slices.Contains(c.Files, "-") {
		return errors.New("not_followable: standard input cannot be followed; import it without --follow")
	}
	var followers []*logimport.Importer
	for _, name := range c.Files {
		im, following, err := follower(ingester, g, g.logger(std.err), c.options(), name)
		if err != nil {
			return err
		}
		followers, services = append(followers, im), append(services, following)
		fmt.Fprintf(std.err, "following %s for site %s\n", name, c.Site)
	}
	err := workcli.Together(ctx, services)
	for _, im := range followers {
		summary.Add(&im.Summary)
	}
	return err
}

// follower returns the importer of one followed log.
func follower(ingester logimport.Ingester, g *globals, logger *slog.Logger, o logimport.Options, name string) (*logimport.Importer, service, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	im, err := logimport.New(ingester, terminal.NewFiles(io.Discard, true, nil), o)
	if err != nil {
		return nil, nil, err
	}
	f := logimport.Following{File: tail.Options{Path: path}, Positions: &logimport.Positions{Path: g.positionFile(o.Site, path)}, Logger: logger}
	return im, func(ctx context.Context) error { return im.Follow(ctx, f) }, nil
}

// positionFile returns the path of the file that stores the position in a log followed for a site.
// The file is in a directory next to the table, because the table's directory holds only its own
// files.
func (g *globals) positionFile(site, path string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, path) // a hash never returns an error
	return filepath.Join(g.Data+".follow", fmt.Sprintf("%s-%s-%016x.json", site, filepath.Base(path), h.Sum64()))
}

// followFlags let a server follow logs.
type followFlags struct {
	Follow []string `help:"Log to follow, importing its page views into a site. Repeat for more." placeholder:"SITE=FILE" sep:"none"`
}

// services returns a service for each log to follow. The sites must exist.
func (f *followFlags) services(ctx context.Context, s *store, g *globals, logs io.Writer) ([]service, error) {
	var services []service
	ingester := analytics.NewCollector(s.table, analytics.CollectorOptions{})
	for _, text := range f.Follow {
		site, path, ok := strings.Cut(text, "=")
		if !ok || site == "" || path == "" {
			return nil, fmt.Errorf("--follow %s: use SITE=FILE, such as blog=/var/log/nginx/access.log", text)
		}
		if _, err := analytics.GetSite(ctx, s.table, site); err != nil && !dynamo.IsUnavailable(err) { // if unavailable, events of an unknown site are rejected later
			return nil, cmdenv.SiteError(site, err)
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("--follow %s: it is not a regular file", text)
		}
		_, following, err := follower(ingester, g, g.logger(logs), logimport.Options{Site: site}, path)
		if err != nil {
			return nil, err
		}
		services = append(services, s.parts.Keep("log", following))
	}
	return services, nil
}
