package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
)

type liveAnswer struct {
	Body struct {
		Status string `json:"status" enum:"alive"`
	}
}

// liveRoutes tell whoever restarts processes whether that would help. It looks at nothing outside of this one: a server whose
// table is away keeps what it acknowledged, and must not be restarted for it.
func liveRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "live", Method: http.MethodGet, Path: "/livez",
		Summary: "Whether the process answers", Tags: []string{"operations"},
		Description: "For whoever restarts processes: 200 as long as there is an answer, whatever is with the table. /healthz is for monitors, /readyz for load balancers.",
	}), func(context.Context, *struct{}) (*liveAnswer, error) {
		answer := &liveAnswer{}
		answer.Body.Status = "alive"
		return answer, nil
	})
}
