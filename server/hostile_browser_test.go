package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/servertest"
)

// hostileTexts would run a script if they were interpreted as markup, an attribute or a link.
var hostileTexts = []string{
	`<script>window.hacked=1</script>`, `<img src=x onerror=window.hacked=1>`, `"><svg onload=window.hacked=1>`,
	`javascript:window.hacked=1`, `{{constructor.constructor('window.hacked=1')()}}`, `' onmouseover='window.hacked=1`, `(none)`, `(other)`,
	`<iframe srcdoc="<script>parent.hacked=1</script>">`, `<a href="javascript:window.hacked=1">x</a>`,
}

// TestVisitorInputIsNotExecuted sends hostile values in everything that the dashboard shows of
// visitors: see e2e/hostile.mjs.
func TestVisitorInputIsNotExecuted(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := servertest.New(t, nil)
	_, err := analytics.UpdateSite(t.Context(), h.Table, "blog", func(s *analytics.Site) error {
		s.Name, s.CustomProperties = hostileTexts[1], []string{"plan", "<img src=x onerror=window.hacked=1>"}
		return nil
	})
	servertest.Must(t, err)
	goal := analytics.Goal{GoalKey: analytics.GoalKey{SiteID: "blog", GoalID: "all"}, Name: hostileTexts[0], Path: "/**"}
	servertest.Must(t, goal.Check())
	servertest.Must(t, analytics.Goals.Put(t.Context(), h.Table, &goal))
	h.Collector.Forget("blog")
	for i, text := range hostileTexts {
		sendHostile(h, i, text)
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	drive(h, "hostile.mjs")
}

// sendHostile sends a page view and events with a text in every field that a sender controls.
func sendHostile(h *servertest.Server, i int, text string) {
	h.Helper()
	props := map[string]string{"plan": text, "<img src=x onerror=window.hacked=1>": text, "url": text}
	referrer := fmt.Sprintf("https://r%d.example/%s", i, text)
	for _, e := range []map[string]any{
		{"url": "/" + text + "?utm_source=" + text + "&utm_medium=" + text + "&utm_campaign=" + text + "&utm_term=" + text + "&utm_content=" + text, "referrer": referrer},
		{"url": "/" + text, "name": text, "props": props, "userId": strings.ReplaceAll(text, "#", ""), "screen": "1x1", "language": text[:min(len(text), 35)]},
		{"url": "/" + text, "name": "outbound", "props": props},
		{"url": "/" + text, "name": "download", "props": props},
		{"url": "/" + text, "name": "404"},
	} {
		e["site"] = "blog"
		body, err := json.Marshal(e)
		servertest.Must(h.T, err)
		agent := fmt.Sprintf("%s %d", servertest.Firefox, i)
		if status, answer := h.Post("/api/event", string(body), "User-Agent", agent); status != http.StatusAccepted || !strings.Contains(answer, `"stored"`) {
			h.Fatalf("%s: %d %s", body, status, answer)
		}
	}
}
