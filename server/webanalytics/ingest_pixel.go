package webanalytics

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
)

// pixelPath is the path of the image that counts browsers without scripts.
const pixelPath = "/api/pixel.gif"

// pixel is the smallest GIF: one transparent pixel.
const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

type pixelRequest struct {
	Sender
	Site     string `query:"site" required:"true" minLength:"1" maxLength:"128" doc:"ID of the site."`
	URL      string `query:"url" maxLength:"4096" doc:"URL of the page, or its path. Default: the Referer header, which browsers may reduce to the origin."`
	Referrer string `query:"ref" maxLength:"4096" doc:"URL of the previous page."`
	Page     string `header:"Referer"`
	Purpose  string `header:"Sec-Purpose"`
}

type pixelAnswer struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Resource     string `header:"Cross-Origin-Resource-Policy"`
	Body         []byte
}

func (s *Service) pixelRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "ingest-pixel", Method: http.MethodGet, Path: pixelPath,
		Summary: "Count a page view of a browser without scripts", Tags: []string{"ingest"},
		Description: "Every load is a page view, because an image request has no ID to detect retries by. The response is the image, whatever the outcome.",
		Responses:   map[string]*huma.Response{"200": {Description: "A transparent image.", Content: map[string]*huma.MediaType{"image/gif": {}}}},
	}), s.pixel)
}

// pixel counts a page view. Prefetches do not count.
func (s *Service) pixel(ctx context.Context, in *pixelRequest) (*pixelAnswer, error) {
	page := in.URL
	if page == "" {
		page = in.Page
	}
	if page == "" {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "no_page", "Name the page: /api/pixel.gif?site=SITE&url=/path")
	}
	if in.Purpose == "" {
		if _, err := s.ingest(ctx, in.Site, &in.Sender, []Event{{URL: page, Referrer: in.Referrer}}, nil); err != nil {
			return nil, err
		}
	}
	return &pixelAnswer{ContentType: "image/gif", CacheControl: "no-store", Resource: "cross-origin", Body: []byte(pixel)}, nil
}
