package webanalytics

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

// deletionWait is how long a request waits for the deletion of an import. The deletion continues
// without the request.
const deletionWait = 45 * time.Second

type uploadRequest struct {
	middleware.SitePath
	DryRun bool `query:"dryRun" doc:"Report what would be imported without storing anything."`

	raw *http.Request // its body is streamed
	w   http.ResponseWriter
}

// Resolve implements huma.Resolver.
func (u *uploadRequest) Resolve(ctx huma.Context) []error {
	u.raw, u.w = humago.Unwrap(ctx)
	return nil
}

type importAnswer struct{ Body ImportWork }

type importsAnswer struct {
	Body struct {
		Imports  []imported.Import `json:"imports" doc:"Only imports in state done count."`
		Work     *ImportWork       `json:"work,omitempty" doc:"The running import, otherwise the last one since the server started."`
		MaxBytes int64             `json:"maxBytes" doc:"Maximum size of an upload."`
	}
}

// ImportPath names an import of a site.
type ImportPath struct {
	middleware.SitePath
	ID string `path:"id" maxLength:"64" doc:"ID of the import."`
}

func (s *Service) importedRoutes(api huma.API) {
	const list, one = "/api/v1/sites/{site}/imports", "/api/v1/sites/{site}/imports/{id}"
	upload := middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-import", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusAccepted,
		Summary: "Import daily counts of Plausible or Google Analytics",
		Description: "Files as multipart/form-data, with any field names: zip archives or CSV. Returns 202 once all files have arrived. They are then read and " +
			"stored in the background; GET returns the progress and the result. Importing the same files again changes nothing.",
		Tags: []string{"imports"}, Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType},
	})
	huma.Register(api, upload, s.addImport)
	// Added after registration, so that huma does not read the body before the handler does.
	api.OpenAPI().Paths[list].Post.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
		Type: "object", AdditionalProperties: &huma.Schema{Type: "string", Format: "binary"},
	}}}}
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "imports", Method: http.MethodGet, Path: list, Summary: "List the imports of daily counts, and the running one", Tags: []string{"imports"},
	}), s.imports)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-import", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent, Summary: "Delete an import and its counts",
		Description: "Its counts are excluded at once. If the deletion was interrupted, delete the import again.",
		Tags:        []string{"imports"}, Errors: []int{http.StatusNotFound, http.StatusGatewayTimeout},
	}), s.deleteImport)
}

func (s *Service) imports(ctx context.Context, in *middleware.SitePath) (*importsAnswer, error) {
	if _, err := analytics.GetSite(ctx, s.table, in.Site); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	work, err := s.importOf(ctx, in.Site) // before the list, so that an import that just ended is in the list
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	all, err := imported.ImportsOfSite.Collect(ctx, s.table, imported.SiteIn{SiteID: in.Site})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(importsAnswer)
	answer.Body.Imports, answer.Body.Work, answer.Body.MaxBytes = append([]imported.Import{}, all...), work, maxUpload
	return answer, nil
}

func (s *Service) deleteImport(ctx context.Context, in *ImportPath) (*struct{}, error) {
	if _, err := analytics.GetSite(ctx, s.table, in.Site); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	done, actor := make(chan error, 1), middleware.CallerOf(ctx).Actor
	if !s.background.Start(func(ctx context.Context) {
		err := imported.Delete(ctx, s.table, imported.ImportKey{SiteID: in.Site, ImportID: in.ID})
		if err == nil {
			s.mw.Record(ctx, accounts.Entry{Actor: actor, Action: "import.delete", Site: in.Site, Subject: in.ID})
		}
		done <- err
	}) {
		return nil, middleware.ShuttingDown()
	}
	timer := time.NewTimer(deletionWait)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		return nil, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, middleware.Problem(http.StatusGatewayTimeout, "still_running", "The deletion continues in the background. The import is no longer counted.")
}
