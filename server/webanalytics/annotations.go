package webanalytics

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/annotations"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type annotationBody struct {
	ID   string    `json:"id" readOnly:"true" required:"false"`
	At   time.Time `json:"at" required:"false" doc:"The moment. Default: now."`
	Text string    `json:"text" minLength:"1" maxLength:"200" doc:"One line, such as the name of a release or campaign."`
	URL  string    `json:"url,omitempty" maxLength:"1000" doc:"A page with more about it."`
}

type annotationsRequest struct {
	middleware.SitePath
	DayRange
}

type annotationsAnswer struct {
	Body struct {
		Annotations []annotationBody `json:"annotations" doc:"Oldest first."`
	}
}

type newAnnotationRequest struct {
	middleware.SitePath
	Body annotationBody
}

type annotationAnswer struct{ Body annotationBody }

type annotationPath struct {
	middleware.SitePath
	ID string `path:"id" maxLength:"64" doc:"ID of the annotation."`
}

func (s *Service) annotationRoutes(api huma.API) {
	const list = "/api/v1/sites/{site}/annotations"
	huma.Register(api, middleware.Guard(middleware.ForRead, statisticsOperation("annotations", "annotations", "List the annotations of a range of days")), s.annotations)
	huma.Register(api, middleware.Guard(middleware.ForAppend, huma.Operation{
		OperationID: "add-annotation", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Add an annotation, such as a release, to the charts of a site",
		Description: `Keys of scope ingest suffice, so that a deployment can add its release. A repeated request with the same ` + "`at`" + `, text and URL changes nothing and gets the first answer. A site has at
most 50 annotations a day.`,
		Tags: []string{"statistics"},
	}), s.addAnnotation)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-annotation", Method: http.MethodDelete, Path: list + "/{id}", DefaultStatus: http.StatusNoContent,
		Summary: "Delete an annotation", Tags: []string{"statistics"}, Errors: []int{http.StatusNotFound},
	}), s.deleteAnnotation)
}

func (s *Service) annotations(ctx context.Context, in *annotationsRequest) (*annotationsAnswer, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.From, in.To, reportDays)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	all, err := annotations.List(ctx, s.table, in.Site, from, to)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(annotationsAnswer)
	answer.Body.Annotations = make([]annotationBody, len(all))
	for i := range all {
		answer.Body.Annotations[i] = describeAnnotation(&all[i])
	}
	return answer, nil
}

func describeAnnotation(a *annotations.Annotation) annotationBody {
	return annotationBody{a.AnnotationID, a.At, a.Text, a.URL}
}

func (s *Service) addAnnotation(ctx context.Context, in *newAnnotationRequest) (*annotationAnswer, error) {
	at := in.Body.At
	if at.IsZero() {
		at = s.table.Now()
	}
	actor := middleware.CallerOf(ctx).Actor
	a, isNew, err := annotations.Add(ctx, s.table, annotations.Annotation{Key: annotations.Key{SiteID: in.Site}, At: at, Text: in.Body.Text, URL: in.Body.URL, Author: actor})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if isNew {
		s.mw.RecordChange(ctx, accounts.Entry{Actor: actor, Action: "annotation.create", Site: in.Site, Subject: a.AnnotationID}, nil, describeAnnotation(&a))
	}
	return &annotationAnswer{describeAnnotation(&a)}, nil
}

func (s *Service) deleteAnnotation(ctx context.Context, in *annotationPath) (*struct{}, error) {
	a, err := annotations.Delete(ctx, s.table, annotations.Key{SiteID: in.Site, AnnotationID: in.ID})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "annotation.delete", Site: in.Site, Subject: in.ID}, describeAnnotation(&a), nil)
	return nil, nil
}
