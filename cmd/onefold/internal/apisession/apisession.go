// Package apisession logs a person in to a running server for one command. Keys cannot manage
// keys, so a command that does needs the session of a person.
package apisession

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/logimport"
)

// Flags select the server and the person.
type Flags struct {
	Server string `help:"URL of a running server, such as https://stats.example.org, instead of opening the table. Requires --email; the password is read from standard input." placeholder:"URL" env:"ONEFOLD_SERVER"`
	Email  string `help:"Email address to log in with, for --server." placeholder:"EMAIL" env:"ONEFOLD_EMAIL"`
	Code   string `help:"Code of the authenticator app, or a recovery code, if the account has an app." placeholder:"CODE"`
}

const (
	timeout   = time.Minute // of one request
	maxAnswer = 4 << 20     // bytes
)

// Session calls the API of a server as a person.
type Session struct {
	base   string
	csrf   string
	client *http.Client
}

// Open logs in. readPassword is called only if the flags are complete. The caller closes the
// session. Errors: a logimport.Problem if the server refuses.
func (f *Flags) Open(ctx context.Context, readPassword func() (string, error)) (*Session, error) {
	u, err := url.Parse(f.Server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("bad_server: %q: use a URL such as https://stats.example.org", f.Server)
	}
	if f.Email == "" {
		return nil, errors.New("no_email: a server needs to know who manages its keys: set --email or ONEFOLD_EMAIL")
	}
	password, err := readPassword()
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	s := &Session{base: strings.TrimSuffix(f.Server, "/"), client: &http.Client{
		Jar: jar, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the password is for this address only
	}}
	return s, s.logIn(ctx, f, password)
}

// me is the response to a login, of which only a part matters.
type me struct {
	CSRF       string
	MustChange bool `json:"mustChangePassword"`
}

// secondStep is the response to a correct password that needs a code as well.
type secondStep struct{ Challenge string }

func (s *Session) logIn(ctx context.Context, f *Flags, password string) error {
	var person me
	status, text, err := s.send(ctx, http.MethodPost, "/api/v1/login", map[string]string{"email": f.Email, "password": password})
	if err == nil && status == http.StatusUnauthorized {
		var step secondStep
		if json.Unmarshal(text, &step) == nil && step.Challenge != "" {
			if f.Code == "" {
				return errors.New("second_factor_required: the account has an authenticator app: give its current code with --code")
			}
			status, text, err = s.send(ctx, http.MethodPost, "/api/v1/login/code", map[string]string{"challenge": step.Challenge, "code": f.Code})
		}
	}
	if err == nil {
		err = decode(status, text, &person)
	}
	if err != nil {
		return err
	}
	s.csrf = person.CSRF
	if person.MustChange {
		return errors.Join(errors.New("password_change_required: another person chose this password: log in with a browser to change it"), s.Close(ctx))
	}
	return nil
}

// Call sends a request once, with a JSON body if body is not nil, and decodes the response into a
// value, if into is not nil. Errors: a logimport.Problem if the server refuses.
func (s *Session) Call(ctx context.Context, method, path string, body, into any) error {
	status, text, err := s.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	return decode(status, text, into)
}

// Close logs out, so that the session of a command does not outlive it.
func (s *Session) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return s.Call(ctx, http.MethodPost, "/api/v1/logout", nil, nil)
}

func (s *Session) send(ctx context.Context, method, path string, body any) (status int, text []byte, err error) {
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-CSRF-Token", s.csrf)
	answer, err := s.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("server: %w", err)
	}
	text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return 0, nil, fmt.Errorf("server: %w", err)
	}
	return answer.StatusCode, text, nil
}

func decode(status int, text []byte, into any) error {
	if status/100 != 2 {
		return logimport.Refused(status, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("server: invalid response: %w", err)
	}
	return nil
}
