package webanalytics

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

type shardsBody struct {
	From   time.Time `json:"from"`
	Shards int       `json:"shards"`
}

func describeShards(s table.Sharding) []shardsBody {
	steps := make([]shardsBody, len(s))
	for i, step := range s {
		steps[i] = shardsBody{step.From, step.N}
	}
	return steps
}

type setShardsRequest struct {
	middleware.SitePath
	Body struct {
		Shards int `json:"shards" minimum:"1" maximum:"256" doc:"Each partition takes about 1,000 events per second, and every query reads all of them."`
	}
}

func (s *Service) shardRoutes(api huma.API, site string) {
	huma.Register(api, middleware.Guard(middleware.ForOwner, huma.Operation{
		OperationID: "set-site-shards", Method: http.MethodPut, Path: site + "/shards", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Set the number of partitions of a site's events", Tags: []string{"sites"},
		Description: "Applies to events after about twelve minutes, and to visitors from the next day on. Existing data is not rewritten: reports read all partitions that can have events of their time range.",
	}), s.setShards)
}

// setShards is safe while events arrive: all writers see the new number before it takes effect.
func (s *Service) setShards(ctx context.Context, in *setShardsRequest) (*siteAnswer, error) {
	before, err := analytics.GetSite(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	site, err := analytics.SetShards(ctx, s.table, in.Site, in.Body.Shards)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(in.Site)
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "site.reshard", Site: in.Site}, allOf(&before), allOf(&site))
	return s.describeSite(ctx, &site)
}
