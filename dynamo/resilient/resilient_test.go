package resilient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/resilient"
)

// scripted is an API that answers requests as a test specifies.
type scripted struct {
	dynamo.API
	put      func(ctx context.Context) error
	scan     func() error
	transact func(in *dynamodb.TransactWriteItemsInput) error
	update   func() error
}

func (s *scripted) PutItem(ctx context.Context, _ *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, s.put(ctx)
}

func (s *scripted) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return &dynamodb.ScanOutput{}, s.scan()
}

func (s *scripted) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, s.update()
}

func (s *scripted) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, s.transact(in)
}

var (
	errBroken   = &types.InternalServerError{Message: aws.String("broken")}
	errRefused  = &types.ConditionalCheckFailedException{}
	errSlow     = &types.ThrottlingException{}
	errNoDialed = &net.OpError{Op: "dial", Err: errors.New("connection refused")}
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func put(s *resilient.Store, key string) error {
	_, err := s.PutItem(context.Background(), &dynamodb.PutItemInput{Item: map[string]types.AttributeValue{"pk": text(key), "sk": text("x")}})
	return err
}

// TestRepeats checks, for different answers of the store, which requests are repeated and which
// error is returned in the end.
func TestRepeats(t *testing.T) {
	for name, c := range map[string]struct {
		answers []error // the last one repeats forever
		sent    int
		want    func(error) bool
	}{
		"an answer":          {[]error{nil}, 1, func(err error) bool { return err == nil }},
		"broken twice":       {[]error{errBroken, errNoDialed, nil}, 3, func(err error) bool { return err == nil }},
		"throttled once":     {[]error{errSlow, nil}, 2, func(err error) bool { return err == nil }},
		"a condition":        {[]error{errRefused}, 1, dynamo.IsConditionFailed},
		"a wrong request":    {[]error{dynamo.Validation("no")}, 1, func(err error) bool { _, gave := dynamo.GaveUp(err); return !gave && err != nil }},
		"not serializable":   {[]error{&smithy.SerializationError{Err: errors.New("no")}}, 1, func(err error) bool { return err != nil && !dynamo.IsUnavailable(err) }},
		"always broken":      {[]error{errBroken}, 4, dynamo.IsUnavailable},
		"never there":        {[]error{errNoDialed}, 4, dynamo.IsUnavailable},
		"throttled for ever": {[]error{errSlow}, 4, func(err error) bool { _, gave := dynamo.GaveUp(err); return gave && dynamo.IsThrottle(err) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				s := resilient.Wrap(&scripted{put: func(context.Context) error {
					sent++
					return c.answers[min(sent, len(c.answers))-1]
				}}, resilient.Options{})
				if err := put(s, "SITE#a"); !c.want(err) || sent != c.sent {
					t.Errorf("sent %d times, %v", sent, err)
				}
			})
		})
	}
}

// TestPatience checks that a caller with patience waits that long for an unreachable store, but
// does not repeat a request that may have taken effect and must not happen twice.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		away := func(sent *int, until time.Duration) error {
			*sent++
			if time.Since(began) < until {
				return errBroken
			}
			return nil
		}
		const patience = 2 * time.Minute
		for name, c := range map[string]struct {
			until  time.Duration
			stored bool
		}{"for a minute": {time.Minute, true}, "for an hour": {time.Hour, false}} {
			sent := 0
			s := resilient.Wrap(&scripted{put: func(context.Context) error { return away(&sent, c.until) }}, resilient.Options{Patience: patience})
			began = time.Now()
			err := put(s, "SITE#a")
			if took := time.Since(began); (err == nil) != c.stored || took > patience || took < min(c.until, patience-20*time.Second) || sent > 50 {
				t.Errorf("away %s: %v after %s, sent %d times", name, err, took, sent)
			}
			if !c.stored && !dynamo.IsUnavailable(err) {
				t.Errorf("away %s: %v", name, err)
			}
		}
		added := 0
		adds := resilient.Wrap(&scripted{update: func() error { added++; return errBroken }}, resilient.Options{Patience: patience})
		if _, err := adds.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{UpdateExpression: aws.String("ADD n :one")}); added != 1 || !dynamo.IsUnavailable(err) {
			t.Errorf("added %d times, %v", added, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := resilient.Wrap(&scripted{put: func(context.Context) error { return errBroken }}, resilient.Options{Patience: patience})
		began = time.Now()
		_, err := s.PutItem(ctx, &dynamodb.PutItemInput{})
		if took := time.Since(began); err == nil || took > time.Second {
			t.Errorf("told to stop: %v after %s", err, took)
		}
	})
}

// TestBlackHole checks that a request to a store that hangs ends after the time that an answer may
// take, and that no request waits for the store once the breaker is open.
func TestBlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, there := 0, false
		s := resilient.Wrap(&scripted{put: func(ctx context.Context) error {
			sent++
			if there {
				return nil
			}
			<-ctx.Done()
			return &smithy.OperationError{Err: ctx.Err()}
		}}, resilient.Options{})
		began := time.Now()
		for range 2 {
			if err := put(s, "a"); !dynamo.IsUnavailable(err) {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 21*time.Second || s.Condition().State != resilient.Open {
			t.Fatalf("took %s, %+v", took, s.Condition())
		}
		before := sent
		for range 1000 {
			if began := time.Now(); !dynamo.IsUnavailable(put(s, "a")) || time.Since(began) != 0 {
				t.Fatal("somebody waited")
			}
		}
		if sent != before {
			t.Errorf("%d requests were sent through an open breaker", sent-before)
		}
		there = true
		time.Sleep(16 * time.Second)
		if err := put(s, "a"); err != nil || s.Condition().State != resilient.Closed {
			t.Errorf("it is there again: %v, %+v", err, s.Condition())
		}
		if st := s.Stats(); st.Breaker.Trips != 1 || st.Timeouts == 0 || st.Refused < 1000 || st.InFlight != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// TestProbes checks that while the store is unreachable it is probed less and less often, with one
// request at a time.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most, probes atomic.Int64
		s := resilient.Wrap(&scripted{put: func(ctx context.Context) error {
			probes.Add(1)
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}}, resilient.Options{})
		for s.Condition().State != resilient.Open {
			_ = put(s, "a")
		}
		most.Store(0)
		probes.Store(0)
		until := time.Now().Add(10 * time.Minute)
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for time.Now().Before(until) {
					_ = put(s, "a")
					time.Sleep(time.Second)
				}
			})
		}
		callers.Wait()
		if n := probes.Load(); n > 130 || n < 40 || most.Load() != 1 {
			t.Errorf("%d probes in ten minutes, %d at once", n, most.Load())
		}
	})
}

// TestWhatOpensNothing checks that the breaker is opened neither by refusals of invalid requests,
// nor by throttles, nor by callers that cancel.
func TestWhatOpensNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{errRefused, errSlow, dynamo.Validation("no"), &types.ResourceNotFoundException{}} {
			s := resilient.Wrap(&scripted{put: func(context.Context) error { return err }}, resilient.Options{})
			for range 100 {
				_ = put(s, "a")
			}
			if c := s.Condition(); c.State != resilient.Closed || c.Trips != 0 {
				t.Errorf("%v: %+v", err, c)
			}
		}
		s := resilient.Wrap(&scripted{put: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, resilient.Options{})
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
			if _, err := s.PutItem(ctx, &dynamodb.PutItemInput{}); !errors.Is(err, context.DeadlineExceeded) || dynamo.IsUnavailable(err) {
				t.Fatal(err)
			}
			cancel()
		}
		if c := s.Condition(); c.State != resilient.Closed {
			t.Errorf("callers that went away: %+v", c)
		}
	})
}

// TestDeadlinesOpenTheBreaker checks that a store that hangs is also detected by callers with less
// time than an answer may take. Those callers get their own deadline error.
func TestDeadlinesOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := resilient.Wrap(&scripted{put: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, resilient.Options{Failures: 5})
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if _, err := s.PutItem(ctx, &dynamodb.PutItemInput{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if c := s.Condition(); c.State != resilient.Open {
			t.Errorf("%+v", c)
		}
	})
}

// TestPanicWhileProbing checks that a panic in the API does not prevent further probes.
func TestPanicWhileProbing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := func() error { return errBroken }
		s := resilient.Wrap(&scripted{put: func(context.Context) error { return answer() }}, resilient.Options{Attempts: 1, Failures: 1})
		_ = put(s, "a")
		time.Sleep(time.Minute)
		answer = func() error { panic("below") }
		func() {
			defer func() { _ = recover() }()
			_ = put(s, "a")
		}()
		answer = func() error { return nil }
		if err := put(s, "a"); err != nil || s.Condition().State != resilient.Closed {
			t.Errorf("%v, %+v", err, s.Condition())
		}
	})
}

// TestBudget checks that, however many requests fail, the retries add only a little to the number
// of requests.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		s := resilient.Wrap(&scripted{put: func(context.Context) error { sent.Add(1); return errSlow }}, resilient.Options{Budget: 50})
		const asked = 2000
		var wait sync.WaitGroup
		for range asked {
			wait.Go(func() { _ = put(s, "a") })
		}
		wait.Wait()
		if n := sent.Load(); n != asked+50 {
			t.Errorf("%d requests for %d", n, asked)
		}
	})
}

// TestCrowd checks that a storm of requests on a slow store stays within the bounds, and that the
// excess requests are refused.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most, crowded, done atomic.Int64
		s := resilient.Wrap(&scripted{put: func(context.Context) error {
			most.Store(max(most.Load(), under.Add(1)))
			time.Sleep(time.Second)
			under.Add(-1)
			return nil
		}}, resilient.Options{InFlight: 100, Waiting: 150})
		var wait sync.WaitGroup
		for range 1000 {
			wait.Go(func() {
				switch f, gave := dynamo.GaveUp(put(s, "a")); {
				case !gave:
					done.Add(1)
				case f.Kind == dynamo.Crowded:
					crowded.Add(1)
				default:
					t.Errorf("%v", f)
				}
			})
		}
		wait.Wait()
		if most.Load() > 100 || done.Load() < 200 || done.Load() > 250 || done.Load()+crowded.Load() != 1000 {
			t.Errorf("%d at once, %d done, %d refused", most.Load(), done.Load(), crowded.Load())
		}
		if st := s.Stats(); st.InFlight != 0 || st.InFlightBytes != 0 || st.Waiting != 0 || st.Crowded != crowded.Load() {
			t.Errorf("%+v", st)
		}
		small := resilient.Wrap(&scripted{put: func(context.Context) error {
			most.Store(max(most.Load(), under.Add(1)))
			time.Sleep(time.Millisecond)
			under.Add(-1)
			return nil
		}}, resilient.Options{InFlightBytes: 3000, WaitFor: time.Minute})
		most.Store(0)
		for range 100 {
			wait.Go(func() {
				if err := put(small, "SITE#"+strings.Repeat("x", 900)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if most.Load() != 3 {
			t.Errorf("%d items of 1 kB at once within 3 kB", most.Load())
		}
	})
}

// TestPagesLeaveRoomForItems checks that requests for single items do not wait for pages, however
// many pages are being read or are waiting.
func TestPagesLeaveRoomForItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most, scanned atomic.Int64
		s := resilient.Wrap(&scripted{put: func(context.Context) error { return nil }, scan: func() error {
			most.Store(max(most.Load(), under.Add(1)))
			time.Sleep(time.Second)
			under.Add(-1)
			scanned.Add(1)
			return nil
		}}, resilient.Options{InFlight: 16, InFlightBytes: 8 << 20, WaitFor: time.Minute})
		var wait sync.WaitGroup
		for range 60 {
			wait.Go(func() {
				if _, err := s.Scan(t.Context(), &dynamodb.ScanInput{}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for range 100 {
			began := time.Now()
			if err := put(s, "SITE#"+strings.Repeat("x", 900)); err != nil || time.Since(began) > 0 {
				t.Fatalf("an item waited %v for pages: %v", time.Since(began), err)
			}
		}
		wait.Wait()
		if most.Load() != 6 || scanned.Load() != 60 {
			t.Errorf("%d pages at once, want 6 of 1 MiB in three quarters of 8 MiB; %d were read", most.Load(), scanned.Load())
		}
		if st := s.Stats(); st.InFlight != 0 || st.InFlightBytes != 0 || st.Waiting != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// TestWhatMustNotHappenTwice checks that a request that counts each time it is executed is not
// repeated if it may have taken effect.
func TestWhatMustNotHappenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			update, condition string
			err               error
			sent              int
		}{
			{"ADD #0 :0", "", errBroken, 1}, {"SET #0 = #0 + :0", "", errBroken, 1}, {"SET #0 = list_append(#0, :0)", "", errBroken, 1},
			{"SET #0 = :0", "", errBroken, 2}, {"ADD #0 :0", "attribute_exists(#k)", errBroken, 1}, {"SET #0 = :0", "#v = :v", errBroken, 2}, {"ADD #0 :0", "", errSlow, 2}, {"ADD #0 :0", "", errNoDialed, 2},
			{"SET #address = :0", "", errBroken, 2},
		} {
			sent := 0
			s := resilient.Wrap(&scripted{update: func() error {
				if sent++; sent > 1 {
					return nil
				}
				return c.err
			}}, resilient.Options{})
			in := &dynamodb.UpdateItemInput{UpdateExpression: &c.update}
			if c.condition != "" {
				in.ConditionExpression = &c.condition
			}
			if _, err := s.UpdateItem(t.Context(), in); sent != c.sent || (err == nil) != (c.sent == 2) {
				t.Errorf("%s after %v: sent %d times, %v", c.update, c.err, sent, err)
			}
		}
		tokens := map[string]bool{}
		tries := 0
		s := resilient.Wrap(&scripted{transact: func(in *dynamodb.TransactWriteItemsInput) error {
			tokens[aws.ToString(in.ClientRequestToken)] = true
			if tries++; tries < 3 {
				return errBroken
			}
			return nil
		}}, resilient.Options{})
		in := &dynamodb.TransactWriteItemsInput{}
		if _, err := s.TransactWriteItems(t.Context(), in); err != nil || len(tokens) != 1 || tokens[""] || in.ClientRequestToken != nil {
			t.Errorf("%v, tokens %v", err, tokens)
		}
	})
}

// TestThrottleReasons checks that the log gives the reason why the store throttles, and the hot
// key, but no personal data.
func TestThrottleReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		hot := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{
			Reason: aws.String("TableWriteKeyRangeThroughputExceeded"), Resource: aws.String("arn:aws:dynamodb:eu-west-1:123456789012:table/onefold"),
		}}}
		full := &types.ThrottlingException{ThrottlingReasons: []types.ThrottlingReason{{
			Reason: aws.String("IndexWriteMaxOnDemandThroughputExceeded"), Resource: aws.String("arn:aws:dynamodb:eu-west-1:123456789012:table/onefold/index/gsi1"),
		}}}
		answer := error(hot)
		s := resilient.Wrap(&scripted{put: func(context.Context) error { return answer }},
			resilient.Options{Attempts: 1, Show: map[string]int{"SITE": 3, "AGGREGATE": 1}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		tell := func(key string) string {
			log.Reset()
			time.Sleep(2 * time.Minute)
			_ = put(s, key)
			return log.String()
		}
		for key, want := range map[string]string{
			"SITE#blog#SHARD#3": "hot_key=SITE#blog#SHARD#3", "AGGREGATE#account#ann@example.org": "hot_key=AGGREGATE#account#~", "USER#ann@example.org": "hot_key=USER#~",
			"ann@example.org": "hot_key=~", "SITE#" + strings.Repeat("x", 1000): "hot_key=~",
		} {
			told := tell(key)
			if !strings.Contains(told, strings.ReplaceAll(want, "hot_key=", `hot_key="`)) && !strings.Contains(told, want) || strings.Contains(told, "ann@") || !strings.Contains(told, "limit=key_range") || !strings.Contains(told, "resource=onefold") {
				t.Errorf("%.40s: %s", key, told)
			}
		}
		if n := s.Stats().HotKeys; n != 1 {
			t.Errorf("%d hot keys", n)
		}
		log.Reset()
		for range 1000 {
			_ = put(s, "SITE#blog#SHARD#3")
		}
		if n := strings.Count(log.String(), "\n"); n > 1 {
			t.Errorf("%d lines of log", n)
		}
		answer = full
		if told := tell("SITE#blog#SHARD#3"); strings.Contains(told, "hot_key") || !strings.Contains(told, "limit=on_demand") || !strings.Contains(told, "resource=onefold/gsi1") {
			t.Error(told)
		}
		if n := s.Stats().Throttles[resilient.Throttle{Resource: "onefold/gsi1", Write: true, Limit: resilient.OnDemand}]; n != 1 {
			t.Errorf("%v", s.Stats().Throttles)
		}
	})
}

// TestThrottledTransaction checks that the hot key of a transaction is that of the throttled
// action.
func TestThrottledTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		codes := []string{"None", "ProvisionedThroughputExceeded"}
		s := resilient.Wrap(&scripted{transact: func(*dynamodb.TransactWriteItemsInput) error {
			e := &types.TransactionCanceledException{}
			for i := range codes {
				e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: &codes[i]})
			}
			return e
		}}, resilient.Options{Show: map[string]int{"A": 1, "B": 1}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{Item: map[string]types.AttributeValue{"pk": text("A#1")}}}, {Delete: &types.Delete{Key: map[string]types.AttributeValue{"pk": text("B#2")}}},
		}}
		_, err := s.TransactWriteItems(t.Context(), in)
		if f, gave := dynamo.GaveUp(err); !gave || f.Kind != dynamo.Throttled || !strings.Contains(log.String(), "B#2") || strings.Contains(log.String(), "A#1") {
			t.Errorf("%v, %s", err, log.String())
		}
		codes[0] = "ConditionalCheckFailed"
		if _, err := s.TransactWriteItems(t.Context(), in); err == nil || dynamo.IsUnavailable(err) {
			t.Error(err)
		} else if _, gave := dynamo.GaveUp(err); gave {
			t.Errorf("a condition that does not hold is no throttle: %v", err)
		}
	})
}

// TestOverHTTP uses the SDK's client over HTTP with no server, a server that hangs, a server that
// breaks the connection, and a proxy without a store.
func TestOverHTTP(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang/":
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
			case <-over:
			}
		case "/break/":
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>no store</html>")
		}
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	defer close(over)
	base := "http://" + l.Addr().String()
	for _, url := range []string{gone, base + "/hang", base + "/break", base + "/proxy"} {
		client := dynamodb.New(dynamodb.Options{Region: "eu-west-1", BaseEndpoint: &url, Retryer: aws.NopRetryer{},
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
			})})
		s := resilient.Wrap(client, resilient.Options{Single: 100 * time.Millisecond, Within: 300 * time.Millisecond, Failures: 3, Random: func() float64 { return 0 }})
		for range 3 {
			if _, err := s.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("onefold"), Item: map[string]types.AttributeValue{"pk": text("a")}}); !dynamo.IsUnavailable(err) {
				t.Errorf("%s: %v", url, err)
			}
		}
		if st := s.Stats(); st.Breaker.State != resilient.Open || st.Refused == 0 {
			t.Errorf("%s: %+v", url, st)
		}
	}
}
