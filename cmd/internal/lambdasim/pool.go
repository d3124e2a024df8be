// Package lambdasim simulates AWS Lambda for tests and benchmarks: the runtime API for real
// processes of a function, and the event source mapping that delivers the changes of a table's
// stream. It behaves as Lambda documents, including the irregularities that Lambda warns of.
package lambdasim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Pool runs processes of one function. Each process handles one invocation at a time; the pool
// starts as many as needed.
type Pool struct {
	Binary string
	Env    []string  // complete environment, except for variables that Lambda adds
	Logs   io.Writer // output of the processes; safe for concurrent use

	// Patience is how long a response may be late before its process is killed, because Lambda
	// counts from the moment when the function received the event. Default: 100 ms.
	Patience time.Duration

	mu     sync.Mutex
	idle   []*environment
	all    []*environment
	starts int
}

// Ways in which an invocation fails, besides *FunctionError.
var (
	ErrTimeout = errors.New("lambdasim: the function timed out and its process was killed")
	ErrExit    = errors.New("lambdasim: the function's process ended")
	ErrStart   = errors.New("lambdasim: the function's process ended before it requested work")
)

// FunctionError is the error response of a function.
type FunctionError struct{ Body []byte }

func (e *FunctionError) Error() string { return "lambdasim: function failed: " + string(e.Body) }

// Starts returns the number of processes started so far.
func (p *Pool) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Invoke lets a process handle an event. limit is the time limit that the function is told. A value
// on kill ends the process during its work.
func (p *Pool) Invoke(ctx context.Context, payload []byte, limit time.Duration, kill <-chan struct{}) ([]byte, error) {
	e, err := p.take()
	if err != nil {
		return nil, err
	}
	call := &invocation{payload: payload, limit: limit, done: make(chan result, 1)}
	out := func() result {
		select {
		case e.next <- call:
		case <-e.exited:
			return result{err: ErrStart}
		case <-ctx.Done():
			return result{err: ctx.Err()}
		}
		timeout := time.NewTimer(limit + cmp.Or(p.Patience, patience))
		defer timeout.Stop()
		select {
		case r := <-call.done:
			return r
		case <-e.exited:
			return result{err: ErrExit}
		case <-timeout.C:
			return result{err: ErrTimeout}
		case <-kill:
			return result{err: ErrExit}
		case <-ctx.Done():
			return result{err: ctx.Err()}
		}
	}()
	var failed *FunctionError
	if out.err != nil && !errors.As(out.err, &failed) {
		return nil, errors.Join(out.err, p.drop(e))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, e)
	return out.body, out.err
}

// patience is the default of Pool.Patience.
const patience = 100 * time.Millisecond

type invocation struct {
	payload []byte
	limit   time.Duration
	done    chan result
}

type result struct {
	body []byte
	err  error
}

// environment is a process with its runtime API.
type environment struct {
	server *http.Server
	cmd    *exec.Cmd
	next   chan *invocation
	exited chan struct{}

	mu      sync.Mutex
	working map[string]*invocation
	count   int
}

// take returns an idle process, or starts one.
func (p *Pool) take() (*environment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		e := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return e, nil
	}
	e := &environment{next: make(chan *invocation), exited: make(chan struct{}), working: make(map[string]*invocation)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e.server = &http.Server{Handler: e.api(), ReadHeaderTimeout: time.Minute}
	e.cmd = exec.Command(p.Binary)
	e.cmd.Env = append(slices.Clone(p.Env), "AWS_LAMBDA_RUNTIME_API="+l.Addr().String(), "AWS_LAMBDA_FUNCTION_NAME=onefold")
	e.cmd.Stdout, e.cmd.Stderr = p.Logs, p.Logs
	if err := e.cmd.Start(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	go func() { _ = e.server.Serve(l) }() // returns when it is closed
	go func() {
		_ = e.cmd.Wait() // returns that it was killed
		close(e.exited)
	}()
	p.starts++
	p.all = append(p.all, e)
	return e, nil
}

// drop ends a process.
func (p *Pool) drop(e *environment) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(have *environment) bool { return have == e })
	return e.end()
}

func (e *environment) end() error {
	_ = e.cmd.Process.Kill() // it may have ended
	<-e.exited
	return e.server.Close()
}

// Close ends all processes. No invocation may be running.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, e := range p.all {
		errs = append(errs, e.end())
	}
	p.all, p.idle = nil, nil
	return errors.Join(errs...)
}

// maxResponse is Lambda's limit.
const maxResponse = 6 << 20

// api is the runtime API. https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
func (e *environment) api() http.Handler {
	const root = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"invocation/next", e.serveNext)
	mux.HandleFunc("POST "+root+"invocation/{id}/{what}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxResponse))
		e.mu.Lock()
		call := e.working[r.PathValue("id")]
		delete(e.working, r.PathValue("id"))
		e.mu.Unlock()
		if call == nil || err != nil {
			http.Error(w, "no such invocation, or response too large", http.StatusBadRequest)
			return
		}
		switch r.PathValue("what") {
		case "response":
			call.done <- result{body: body}
		case "error":
			call.done <- result{err: &FunctionError{body}}
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}

func (e *environment) serveNext(w http.ResponseWriter, r *http.Request) {
	var call *invocation
	select {
	case call = <-e.next:
	case <-r.Context().Done():
		return
	}
	e.mu.Lock()
	e.count++
	id := fmt.Sprintf("8476a536-e9f4-11e8-9739-%012d", e.count)
	e.working[id] = call
	e.mu.Unlock()
	h := w.Header()
	h.Set("Lambda-Runtime-Aws-Request-Id", id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(call.limit).UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:onefold")
	h.Set("Content-Type", "application/json")
	_, _ = io.Copy(w, bytes.NewReader(call.payload)) // the end of the process is noticed elsewhere
}

// Output collects the output of a pool's processes, for tests.
type Output struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (s *Output) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

// String returns the output so far.
func (s *Output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
