package servertest

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
)

// Campaigns stores visits of the last two whole weeks, in UTC: last week, the campaign spring has 12
// visits after 30 in the week before, autumn 9 after 4, and 22 visits after 20 have no campaign.
func Campaigns(h *Server) {
	h.Helper()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	var hits []analytics.Hit
	for _, v := range []struct {
		weeksAgo, visits int
		campaign         string
	}{{2, 30, "?utm_campaign=spring"}, {2, 4, "?utm_campaign=autumn"}, {2, 20, ""}, {1, 12, "?utm_campaign=spring"}, {1, 9, "?utm_campaign=autumn"}, {1, 22, ""}} {
		for i := range v.visits {
			hits = append(hits, analytics.Hit{
				Imported: true, Address: fmt.Sprintf("10.%d.%d.%d", v.weeksAgo, len(hits)/100, len(hits)%100), UserAgent: "test",
				URL: "https://example.com/" + v.campaign, At: monday.AddDate(0, 0, -7*v.weeksAgo).Add(time.Duration(i) * time.Hour),
			})
		}
	}
	outcomes, err := h.Collector.Ingest(h.Context(), "blog", hits)
	Must(h.T, err)
	for i := range outcomes {
		if outcomes[i].Status != analytics.Stored {
			h.Fatalf("%+v: %+v", hits[i], outcomes[i])
		}
	}
	Must(h.T, h.Worker.Drain(h.Context()))
}
