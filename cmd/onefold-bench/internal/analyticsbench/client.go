package analyticsbench

import (
	"net/http"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

// pageViews returns a site's page views as shown by its statistics.
func pageViews(client *http.Client, address, site string) (int, error) {
	var answer struct {
		Totals struct{ PageViews int }
	}
	err := workbench.Get(client, address, "/api/v1/sites/"+site+"/stats", &answer)
	return answer.Totals.PageViews, err
}
