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

// liveRoutes registers the liveness probe. It checks nothing outside of this process: a server
// whose table is unreachable still holds acknowledged facts, so restarting it would not help.
func liveRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "live", Method: http.MethodGet, Path: "/livez",
		Summary: "Report whether the process answers", Tags: []string{"operations"},
		Description: "Liveness probe: 200 as long as the process answers, whatever the state of the table. Use /healthz for monitoring and /readyz for load balancers.",
	}), func(context.Context, *struct{}) (*liveAnswer, error) {
		answer := &liveAnswer{}
		answer.Body.Status = "alive"
		return answer, nil
	})
}
