package webanalytics

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/server/internal/middleware"
)

type maskBody struct {
	Detect []mask.Kind `json:"detect" required:"false" maxItems:"4" enum:"email,phone,uuid,token" doc:"Detectors, which recognize personal data by its form."`
	Paths  []string    `json:"paths" required:"false" maxItems:"100" doc:"Patterns of the site's paths, such as /customers/:customer/**: a segment with a :name is replaced, * matches any segment, a last ** any number of segments."`
}

// describeMask returns rules with empty lists instead of null.
func describeMask(r mask.Rules) maskBody {
	if r.Detect == nil {
		r.Detect = []mask.Kind{}
	}
	r.Paths = orEmpty(r.Paths)
	return maskBody(r)
}

type previewMaskRequest struct {
	middleware.SitePath
	Body struct {
		Mask  *maskBody `json:"mask,omitempty" doc:"Rules to try. Default: those of the site."`
		Paths []string  `json:"paths" minItems:"1" maxItems:"100" doc:"Paths or URLs, each of at most 2,048 bytes."`
	}
}

type previewMaskAnswer struct {
	Body struct {
		Paths []maskedPath `json:"paths" doc:"In the order of the request."`
	}
}

type maskedPath struct {
	Path   string `json:"path" doc:"As given."`
	Stored string `json:"stored" doc:"The path as events would have it."`
}

func (s *Service) maskRoutes(api huma.API, one string) {
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "preview-mask", Method: http.MethodPost, Path: one + "/mask/preview", MaxBodyBytes: 512 << 10,
		Summary: "Preview how paths are masked", Description: "Stores nothing.", Tags: []string{"sites"},
	}), s.previewMask)
}

func (s *Service) previewMask(ctx context.Context, in *previewMaskRequest) (*previewMaskAnswer, error) {
	site, err := analytics.GetSite(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if in.Body.Mask != nil {
		site.Mask = mask.Rules(*in.Body.Mask)
	}
	stored, err := analytics.StoredPaths(&site, in.Body.Paths)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(previewMaskAnswer)
	for i, path := range in.Body.Paths {
		answer.Body.Paths = append(answer.Body.Paths, maskedPath{path, stored[i]})
	}
	return answer, nil
}
