package explore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// FunnelKey names a funnel of a site.
type FunnelKey struct {
	SiteID   string `dynamodbav:"siteId"`
	FunnelID string `dynamodbav:"funnelId"`
}

// Funnel is a sequence of steps that a site wants its visitors to take in one visit. Other events
// may occur between steps.
type Funnel struct {
	FunnelKey
	Name string `dynamodbav:"name"`
	FunnelDefinition
}

// FunnelDefinition lists the steps of a funnel and limits the time between them.
type FunnelDefinition struct {
	Steps         []Step `dynamodbav:"steps"`
	WindowMinutes int    `dynamodbav:"window,omitempty"` // from first to last step; 0: the whole visit
}

// Step is one step of a funnel. Exactly one of Path and Event is set.
type Step struct {
	Path  string `dynamodbav:"path,omitempty"`  // of a page view; * matches text without slashes, ** any text
	Event string `dynamodbav:"event,omitempty"` // name of a custom event
}

// Name returns the display name of the step.
func (s Step) Name() string { return s.Path + s.Event }

// Funnels holds the funnels of sites.
var Funnels = table.Define[Funnel, FunnelKey]("explore.funnel", table.Def[Funnel]{
	PK: "SITE#{siteId}", SK: "FUNNEL#{funnelId}",
	Doc: "A funnel: steps that lead visitors to a goal.",
})

// FunnelsOfSite queries the funnels of a site, oldest first.
var FunnelsOfSite = table.NewQuery(Funnels, table.QueryDef[analytics.SiteIn]{
	ID: "X2", Question: "the funnels of a site", Load: table.Load{PerSecond: 0.01, Items: 5, ItemBytes: 300},
})

// Limits of funnels.
const (
	minSteps      = 2
	maxSteps      = 12
	maxFunnels    = 100 // per site
	maxFunnelName = 100
	maxWindow     = 24 * 60
	maxGroups     = 20
)

func (c *FunnelDefinition) check() error {
	if len(c.Steps) < minSteps || len(c.Steps) > maxSteps {
		return fmt.Errorf("%w: a funnel has %d to %d steps", ErrQuestion, minSteps, maxSteps)
	}
	if c.WindowMinutes < 0 || c.WindowMinutes > maxWindow {
		return fmt.Errorf("%w: a funnel's window is 1 to %d minutes, or 0 for the whole visit", ErrQuestion, maxWindow)
	}
	for i, s := range c.Steps {
		switch {
		case (s.Path == "") == (s.Event == ""):
			return fmt.Errorf("%w: step %d: give either a path or an event", ErrQuestion, i+1)
		case len(s.Name()) > maxValueBytes:
			return fmt.Errorf("%w: step %d: use at most %d bytes", ErrQuestion, i+1, maxValueBytes)
		case s.Path != "" && !strings.HasPrefix(s.Path, "/") && !strings.HasPrefix(s.Path, "*"):
			return fmt.Errorf("%w: step %d: a path begins with / or *", ErrQuestion, i+1)
		}
	}
	return nil
}

// CreateFunnel stores a funnel. Errors: ErrQuestion, table.ErrNotFound for an unknown site.
func (x *Explorer) CreateFunnel(ctx context.Context, siteID, name string, c FunnelDefinition) (Funnel, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxFunnelName {
		return Funnel{}, fmt.Errorf("%w: a funnel's name has 1 to %d bytes", ErrQuestion, maxFunnelName)
	}
	if err := c.check(); err != nil {
		return Funnel{}, err
	}
	all, err := x.Funnels(ctx, siteID)
	if err != nil {
		return Funnel{}, err
	}
	if len(all) >= maxFunnels {
		return Funnel{}, fmt.Errorf("%w: a site has at most %d funnels: delete one first", ErrQuestion, maxFunnels)
	}
	id, err := ulid.New(ulid.Timestamp(x.t.Now()), rand.Reader)
	if err != nil {
		return Funnel{}, fmt.Errorf("explore: create funnel: %w", err)
	}
	f := Funnel{FunnelKey{siteID, id.String()}, name, c}
	if err := Funnels.Create(ctx, x.t, &f); err != nil {
		return Funnel{}, fmt.Errorf("explore: create funnel of %s: %w", siteID, err)
	}
	return f, nil
}

// Funnels returns the funnels of a site. Errors: table.ErrNotFound for an unknown site.
func (x *Explorer) Funnels(ctx context.Context, siteID string) ([]Funnel, error) {
	if _, err := analytics.GetSite(ctx, x.t, siteID); err != nil {
		return nil, err
	}
	all, err := FunnelsOfSite.Collect(ctx, x.t, analytics.SiteIn{SiteID: siteID})
	if err != nil {
		return nil, fmt.Errorf("explore: funnels of %s: %w", siteID, err)
	}
	return all, nil
}

// Funnel returns one funnel. Errors: table.ErrNotFound.
func (x *Explorer) Funnel(ctx context.Context, siteID, funnelID string) (Funnel, error) {
	if _, err := analytics.GetSite(ctx, x.t, siteID); err != nil {
		return Funnel{}, err
	}
	f, err := Funnels.Get(ctx, x.t, FunnelKey{siteID, funnelID})
	if err != nil {
		return f, fmt.Errorf("explore: funnel of %s: %w", siteID, err)
	}
	return f, nil
}

// DeleteFunnel deletes a funnel. Errors: table.ErrNotFound.
func (x *Explorer) DeleteFunnel(ctx context.Context, siteID, funnelID string) error {
	if _, err := x.Funnel(ctx, siteID, funnelID); err != nil {
		return err
	}
	if err := Funnels.Delete(ctx, x.t, FunnelKey{siteID, funnelID}); err != nil {
		return fmt.Errorf("explore: delete funnel of %s: %w", siteID, err)
	}
	return nil
}
