package notices

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/server/internal/middleware"
)

// ReportPath names a report of a site.
type ReportPath struct {
	middleware.SitePath
	Report string `path:"report" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" patternDescription:"letters, digits, _ and -" doc:"ID of the report."`
}

func (in *ReportPath) key() digest.Key { return digest.Key{SiteID: in.Site, ReportID: in.Report} }

// ReportForm has the settings of a report that people choose.
type ReportForm struct {
	Name     string       `json:"name,omitempty" maxLength:"100" doc:"Heading. Default: the name of the site."`
	Every    digest.Every `json:"every" enum:"daily,weekly,monthly" doc:"Weeks begin on Monday. A daily report compares with the same weekday of the week before, others with the period before."`
	Hour     int          `json:"hour" minimum:"0" maximum:"23" default:"8" required:"false" doc:"Hour at which it is sent, in the site's time zone, on the day after the period."`
	Channels []string     `json:"channels,omitempty" maxItems:"20" doc:"IDs of channels. Default: all of the site."`
	Off      bool         `json:"off,omitempty" doc:"It is not sent."`
}

type reportBody struct {
	ID string `json:"id"`
	ReportForm
	Next     time.Time `json:"next,omitzero" doc:"When it is sent next."`
	LastSent time.Time `json:"lastSent,omitzero" doc:"When the last regular one was due."`
}

func formOf(r *digest.Report) ReportForm {
	return ReportForm{r.Name, r.Every, r.Hour, r.Channels, r.Off}
}

func describeReport(r *digest.Report) reportBody {
	b := reportBody{ID: r.ReportID, ReportForm: formOf(r), LastSent: r.LastSent}
	if !r.Off {
		b.Next = r.Next
	}
	return b
}

type reportsAnswer struct {
	Body struct {
		Reports []reportBody `json:"reports"`
	}
}

type putReportRequest struct {
	ReportPath
	Body ReportForm
}

type reportAnswer struct{ Body reportBody }

type sentAnswer struct {
	Body struct {
		Messages int `json:"messages" doc:"Number of messages that wait to be sent: one for each channel, and for mail one for each recipient."`
	}
}

func (s *Service) reportRoutes(api huma.API) {
	const list, one = sitePath + "/reports", sitePath + "/reports/{report}"
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "reports", Method: http.MethodGet, Path: list, Summary: "List the reports of a site that are sent regularly", Tags: tags,
	}), s.reports)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "put-report", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody, Summary: "Create or replace a report of a site", Tags: tags,
	}), s.putReport)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-report", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent, Summary: "Delete a report of a site", Tags: tags, Errors: []int{http.StatusNotFound},
	}), s.deleteReport)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "send-report", Method: http.MethodPost, Path: one + "/send", DefaultStatus: http.StatusAccepted, Summary: "Send a report about the last period now",
		Description: "It is sent in addition to the regular ones.", Tags: tags, Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests},
	}), s.sendReport)
}

func (s *Service) reports(ctx context.Context, in *middleware.SitePath) (*reportsAnswer, error) {
	all, err := listed(ctx, s, in.Site, func(ctx context.Context) ([]digest.Report, error) {
		return digest.ReportsOfSite.Collect(ctx, s.table, digest.SiteIn{SiteID: in.Site})
	}, describeReport)
	if err != nil {
		return nil, err
	}
	answer := new(reportsAnswer)
	answer.Body.Reports = all
	return answer, nil
}

func (s *Service) putReport(ctx context.Context, in *putReportRequest) (*reportAnswer, error) {
	_, was, err := before(ctx, s, digest.Reports, in.key(), formOf)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	r, err := digest.Put(ctx, s.table, digest.Report{Key: in.key(), Name: b.Name, Every: b.Every, Hour: b.Hour, Channels: b.Channels, Off: b.Off})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "report.put", in.Site, in.Report, was, formOf(&r))
	return &reportAnswer{describeReport(&r)}, nil
}

func (s *Service) deleteReport(ctx context.Context, in *ReportPath) (*struct{}, error) {
	r, err := digest.Delete(ctx, s.table, in.key())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "report.delete", in.Site, in.Report, formOf(&r), nil)
	return nil, nil
}

func (s *Service) sendReport(ctx context.Context, in *ReportPath) (*sentAnswer, error) {
	if err := s.limit(in.Site); err != nil {
		return nil, err
	}
	n, err := digest.SendNow(ctx, s.table, in.key())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if n == 0 {
		return nil, middleware.Problem(http.StatusConflict, "no_channel", "The report has no channel to go to: add one, or turn one on.")
	}
	s.record(ctx, "report.send", in.Site, in.Report, nil, nil)
	answer := new(sentAnswer)
	answer.Body.Messages = n
	return answer, nil
}
