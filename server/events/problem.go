package events

import (
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/server/internal/middleware"
)

// Problem maps an error of the event store to a response that says what to do. It returns nil for
// other errors.
func Problem(err error) error {
	switch {
	case errors.Is(err, eventstore.ErrInvalid):
		return middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", middleware.Detail(err))
	case errors.Is(err, eventstore.ErrTooLarge):
		return middleware.Problem(http.StatusRequestEntityTooLarge, "too_large", middleware.Detail(err))
	case errors.Is(err, eventstore.ErrClosed):
		return middleware.Problem(http.StatusConflict, "stream_closed", "The stream is closed and accepts no more events.")
	case errors.Is(err, eventstore.ErrCommitReused):
		return middleware.Problem(http.StatusUnprocessableEntity, "commit_reused", "This commit ID belongs to another append. Use a new ID for each append.")
	case errors.Is(err, eventstore.ErrUnsealed):
		return middleware.Problem(http.StatusUnprocessableEntity, "personal_fields", "This table stores personal data encrypted, and the server does not have the keys. Start it with the master key, or append events with personal fields, and reserve values, through a program that has it.")
	case errors.Is(err, shred.ErrErased):
		return middleware.Problem(http.StatusConflict, "subject_erased", "The person was erased. Nothing was appended. A person who returns needs a new ID.")
	case errors.Is(err, shred.ErrNoSubject):
		return middleware.Problem(http.StatusUnprocessableEntity, "no_subject", "An event with personal fields must name the person: an ID of 1 to 256 bytes without '#'. Nothing was appended.")
	case errors.Is(err, shred.ErrMaster):
		return middleware.Problem(http.StatusInternalServerError, "wrong_master_key", "The master keys of the server are not those of the table. Nothing was stored.")
	case errors.Is(err, shred.ErrUnreadable):
		return middleware.Problem(http.StatusInternalServerError, "unreadable", "Personal data cannot be decrypted: a master key is missing, or the data was changed.")
	case errors.Is(err, eventstore.ErrWriteMode):
		return middleware.Problem(http.StatusConflict, "write_mode", "This table is in put mode, without transactions, or another version of onefold made it. The server does not support that. Append through a program that does.")
	case errors.Is(err, eventstore.ErrReserved):
		return middleware.Problem(http.StatusConflict, "reserved", "Another aggregate already has a value that this append would reserve.")
	case errors.Is(err, eventstore.ErrBusy):
		return huma.ErrorWithHeaders(middleware.Problem(http.StatusServiceUnavailable, "busy", "Too many concurrent appends to this stream. Try again."), http.Header{"Retry-After": {"1"}})
	case errors.Is(err, eventstore.ErrTruncated):
		return middleware.Problem(http.StatusGone, "truncated", "These events were truncated, and are not in an archive that the server knows.")
	case errors.Is(err, eventstore.ErrHole):
		return middleware.Problem(http.StatusInternalServerError, "damaged", middleware.Detail(err))
	}
	return nil
}

// conflictProblem is the response to an append that expected another version. It includes the
// events that the writer missed.
type conflictProblem struct {
	*huma.ErrorModel
	AggregateType string            `json:"aggregateType"`
	AggregateID   string            `json:"aggregateId"`
	Actual        int64             `json:"actual" doc:"The actual version of the stream."`
	Since         []eventjson.Event `json:"since" doc:"The events after the expected version, in order, as many as fit into a response. Continue reading after the last."`
}

func conflictOf(c *eventstore.Conflict, status int) error {
	p := &conflictProblem{AggregateType: c.ID.Type, AggregateID: c.ID.ID, Actual: c.Actual, Since: []eventjson.Event{},
		ErrorModel: middleware.Problem(status, "version_conflict", "The stream does not have the expected version. Decide again with the events since then.")}
	bytes := 0
	for i := range c.Since {
		if bytes += eventBytes(&c.Since[i]); bytes > pageBytes {
			break
		}
		p.Since = append(p.Since, describe(&c.Since[i]))
	}
	return p
}

// pageBytes limits the size of the events in a response; the last event may exceed it.
const pageBytes = 4 << 20

// eventBytes estimates the size of an event in a response.
func eventBytes(e *eventstore.Event) int { return len(e.Payload)*4/3 + 512 }
