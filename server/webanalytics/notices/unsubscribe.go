package notices

import (
	"errors"
	"html/template"
	"net/http"

	"github.com/onefold/onefold/analytics/notify"
)

// page is what recipients of mail see. It needs no script, and no login: its link is the proof.
var page = template.Must(template.New("unsubscribe").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; }
body { max-width: 32rem; margin: 15vh auto 0; padding: 0 1.25rem; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.375rem; }
button { padding: .6rem 1.1rem; border: 0; border-radius: 8px; background: #4338ca; color: #fff; font: inherit; cursor: pointer; }
</style></head>
<body><main><h1>{{.Title}}</h1><p>{{.Text}}</p>{{if .Ask}}<form method="post"><button>Unsubscribe</button></form>{{end}}</main></body>
</html>
`))

type pageView struct {
	Title, Text string
	Ask         bool
}

// unsubscribeRoutes adds the page. Opening it changes nothing, because programs open the links in mail,
// too. A POST unsubscribes, from the page or, as RFC 8058 specifies, from a mail program.
func (s *Service) unsubscribeRoutes(mux *http.ServeMux) {
	const path = notify.UnsubscribePath + "{site}/{channel}/{token}"
	mux.Handle("GET "+path, s.mw.LimitAnonymous(http.HandlerFunc(s.askUnsubscribe)))
	mux.Handle("POST "+path, s.mw.LimitAnonymous(http.HandlerFunc(s.unsubscribe)))
}

func linkOf(r *http.Request) (k notify.ChannelKey, token string) {
	return notify.ChannelKey{SiteID: r.PathValue("site"), ChannelID: r.PathValue("channel")}, r.PathValue("token")
}

func (s *Service) askUnsubscribe(w http.ResponseWriter, r *http.Request) {
	k, token := linkOf(r)
	to, err := notify.Recipient(r.Context(), s.table, k, token)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.show(w, r, http.StatusOK, pageView{"Unsubscribe", "Stop sending mail about " + k.SiteID + " to " + to + "?", true})
}

func (s *Service) unsubscribe(w http.ResponseWriter, r *http.Request) {
	k, token := linkOf(r)
	to, err := notify.Unsubscribe(r.Context(), s.table, k, token)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.show(w, r, http.StatusOK, pageView{"Unsubscribed", "No more mail about " + k.SiteID + " is sent to " + to + ". An administrator of the site can add the address again.", false})
}

func (s *Service) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, notify.ErrLink) {
		s.show(w, r, http.StatusNotFound, pageView{"This link does not work", "It is incomplete, or the address is no longer a recipient.", false})
		return
	}
	s.mw.Logger.WarnContext(r.Context(), "unsubscribing failed", "error", err)
	s.show(w, r, http.StatusServiceUnavailable, pageView{"Not now", "The server could not look up this link. Try again later.", false})
}

func (s *Service) show(w http.ResponseWriter, r *http.Request, status int, v pageView) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	w.WriteHeader(status)
	if err := page.Execute(w, v); err != nil && r.Context().Err() == nil {
		s.mw.Logger.WarnContext(r.Context(), "writing a page failed", "error", err)
	}
}
