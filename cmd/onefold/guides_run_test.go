package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/server/servertest"
)

// reader carries out a section of a guide in a new directory, with free addresses instead of the
// guide's.
type reader struct {
	*testing.T
	dir     string
	env     []string
	addrs   map[string]string // addresses used, by the guide's
	running []*background
	printed map[string]string // output by command
}

// background is a process that a guide starts and leaves running.
type background struct {
	text string
	cmd  *exec.Cmd
	url  string // its address; "": none
	log  string // file with its output
	done chan struct{}
	err  error // valid once done is closed
}

// step is a command of a guide, with the guide's expectations.
type step struct {
	text   string
	beside bool // later steps do not wait for it
	says   string
}

// outcome is what a guide promises about a command.
type outcome struct {
	prints []string // regular expressions
	later  bool     // the command prints that only after a while
	then   func()
}

// notRun lists the commands of guides that the test skips, with the reason.
var notRun = map[string]string{
	"make":  "it builds the program, which the test's own binary stands in for",
	"sleep": "the test waits until what was started is ready",
}

// newReader creates the directory, with the program at bin/onefold and in the path.
func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{T: t, dir: t.TempDir(), addrs: map[string]string{}, printed: map[string]string{}}
	self, err := os.Executable()
	if err == nil {
		err = os.Mkdir(filepath.Join(r.dir, "bin"), 0o700)
	}
	if err == nil {
		err = os.Symlink(self, filepath.Join(r.dir, "bin", "onefold"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ONEFOLD_") && !strings.HasPrefix(v, "AWS_") {
			r.env = append(r.env, v)
		}
	}
	r.env = append(r.env, asCommand+"=1", "PATH="+filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"),
		"ONEFOLD_ADDR="+r.addr("127.0.0.1:8090"), "ONEFOLD_DYNAMODB_ADDR="+r.addr("127.0.0.1:8000"))
	t.Cleanup(func() {
		for _, b := range r.running { // they have ended, unless the test failed
			_ = b.cmd.Process.Kill()
			<-b.done
			if log, err := os.ReadFile(b.log); err == nil && t.Failed() {
				t.Logf("%s printed:\n%s", b.text, log)
			}
		}
	})
	return r
}

// addr returns the address used instead of one in a guide.
func (r *reader) addr(said string) string {
	if r.addrs[said] == "" {
		r.addrs[said] = freeAddr(r.T)
	}
	return r.addrs[said]
}

var (
	loopback  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	ampersand = regexp.MustCompile(` & | &$`)
)

// steps returns the commands of a section in order: those of its blocks, and those between
// backquotes in its text.
func (r *reader) steps(file, heading string) (all []step) {
	r.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		r.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		r.Fatalf("%s has no section %q", file, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(loopback.ReplaceAllStringFunc(section, r.addr)) {
		code, block := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case strings.HasPrefix(line, "```") || strings.HasSuffix(code, `\`):
			r.Fatalf("%s, %q: the test reads blocks that are indented, a command a line", file, heading)
		case block:
			all = append(all, stepsOf(code)...)
		default:
			for _, m := range clitest.Inline.FindAllStringSubmatch(line, -1) {
				if len(clitest.Commands(m[1], "onefold")) > 0 {
					all = append(all, step{text: m[1], says: "prose"})
				}
			}
		}
	}
	return all
}

// stepsOf returns the commands in a line of a block.
func stepsOf(code string) (all []step) {
	says := strings.TrimSpace(clitest.Comment.FindString(code))
	code = strings.TrimSpace(clitest.Comment.ReplaceAllString(code, ""))
	for code != "" {
		end := ampersand.FindStringIndex(code)
		if end == nil {
			return append(all, step{text: code, says: says})
		}
		all = append(all, step{text: strings.TrimSpace(code[:end[0]]), beside: true, says: says})
		code = strings.TrimSpace(code[end[1]:])
	}
	return all
}

// follow carries out a section, and checks the output of commands against promised, which is keyed
// by the beginning of the command. Commands in the text are run only if something is promised about
// them.
func (r *reader) follow(file, heading string, promised map[string]outcome) {
	r.Helper()
	kept := map[string]bool{}
	for _, s := range r.steps(file, heading) {
		var is *outcome
		for begins, o := range promised {
			if strings.HasPrefix(s.text, begins) {
				is, kept[begins] = &o, true
			}
		}
		name, _, _ := strings.Cut(s.text, " ")
		switch {
		case s.says == "prose" && is == nil:
		case notRun[name] != "":
			r.Logf("%s: not run: %s", s.text, notRun[name])
		case name == "export":
			r.env = append(r.env, strings.Fields(s.text)[1:]...)
		case s.beside || goesOn(s.text):
			r.start(s.text)
			if !s.beside {
				r.ready()
			}
		case is == nil:
			r.Errorf("%s, %q: %s: the test does not know what that is to print", file, heading, s.text)
		default:
			r.ready()
			r.must(s.text, is)
		}
		if is != nil && is.then != nil {
			is.then()
		}
	}
	for begins := range promised {
		if !kept[begins] {
			r.Errorf("%s, %q: there is no command %s any more", file, heading, begins)
		}
	}
}

// goesOn reports whether a command runs until it is stopped, like a server or worker.
func goesOn(text string) bool {
	for _, words := range clitest.Commands(text, "onefold") {
		plain := len(words) == 1 || strings.HasPrefix(words[1], "--")
		if plain && slices.Contains([]string{"serve", "work", "dynamodb"}, words[0]) {
			return true
		}
	}
	return false
}

// shell returns the process of a command. The shell replaces itself with the command, so that the
// process ID is the command's.
func (r *reader) shell(text string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", "exec "+text)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// must runs a command. The test fails unless it succeeds and prints what the guide promises.
func (r *reader) must(text string, is *outcome) {
	r.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // other processes
		var out, errs bytes.Buffer
		cmd := r.shell(text)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			r.Fatalf("%s: %v\n%s%s", text, err, &out, &errs)
		}
		r.printed[text] = out.String()
		missing := slices.DeleteFunc(slices.Clone(is.prints), func(p string) bool { return regexp.MustCompile(p).Match(out.Bytes()) })
		if len(missing) == 0 {
			return
		}
		if !is.later || time.Now().After(end) {
			r.Fatalf("%s does not print %q, but:\n%s%s", text, missing, &out, &errs)
		}
	}
}

// start starts a command without waiting for its end.
func (r *reader) start(text string) {
	r.Helper()
	words := clitest.Commands(text, "onefold")
	if len(words) != 1 || !goesOn(text) {
		r.Fatalf("%s &: the test only knows how to wait for servers and workers", text)
	}
	b := &background{text: text, cmd: r.shell(text), log: filepath.Join(r.dir, fmt.Sprintf("log%d", len(r.running))), done: make(chan struct{})}
	if i := slices.Index(words[0], "--addr"); i >= 0 {
		b.url = "http://" + words[0][i+1]
	} else if said := map[string]string{"serve": "127.0.0.1:8090", "dynamodb": "127.0.0.1:8000"}[words[0][0]]; said != "" {
		b.url = "http://" + r.addr(said)
	}
	log, err := os.Create(b.log)
	if err != nil {
		r.Fatal(err)
	}
	defer log.Close() // the process has its own handle
	b.cmd.Stdout, b.cmd.Stderr = log, log
	if err := b.cmd.Start(); err != nil {
		r.Fatalf("%s: %v", text, err)
	}
	r.running = append(r.running, b)
	go func() {
		b.err = b.cmd.Wait()
		close(b.done)
	}()
}

// ready waits until all started processes are ready.
func (r *reader) ready() {
	r.Helper()
	for _, b := range r.running {
		for end := time.Now().Add(time.Minute); !b.ready(r.T); time.Sleep(10 * time.Millisecond) { // another process
			select {
			case <-b.done:
				r.Fatalf("%s has ended: %v", b.text, b.err)
			default:
			}
			if time.Now().After(end) {
				r.Fatalf("%s is not ready", b.text)
			}
		}
	}
}

// ready reports whether a process is ready. A server is asked over HTTP; a worker has no address,
// so its log is read.
func (b *background) ready(t *testing.T) bool {
	if b.url == "" {
		log, err := os.ReadFile(b.log)
		return err == nil && bytes.Contains(log, []byte("folding the changes of"))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK || strings.Contains(b.text, "onefold dynamodb") // which has no other sign of readiness
}

// end stops the started processes, the last first.
func (r *reader) end() {
	r.Helper()
	for _, b := range slices.Backward(r.running) {
		if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			r.Errorf("%s: %v", b.text, err)
		}
		if <-b.done; b.err != nil {
			r.Errorf("%s was told to stop: %v", b.text, b.err)
		}
	}
}

// ask sends a request, with a JSON body if there is one. The test fails unless the response has a
// success status.
func (r *reader) ask(method, url, body string) string {
	r.Helper()
	q, err := http.NewRequestWithContext(r.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", browser)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	told, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		r.Errorf("%s %s: %s, %v\n%.300s", method, url, answer.Status, err, told)
	}
	return string(told)
}

// accessLog writes the log that a guide imports: three days that ended yesterday, so that no event of it is too young
// or belongs to a day that ends while a test runs.
func (r *reader) accessLog(name string, lines int) {
	r.Helper()
	g, err := traffic.New(traffic.Options{Seed: 7, Days: 3, Start: time.Now().UTC().Truncate(time.Second).AddDate(0, 0, -4)})
	var log bytes.Buffer
	zip := gzip.NewWriter(&log)
	if err == nil {
		err = cmp.Or(g.WriteLog(zip, lines), zip.Close(), os.WriteFile(filepath.Join(r.dir, name), log.Bytes(), 0o600))
	}
	if err != nil {
		r.Fatal(err)
	}
}

// README's "Five minutes" are the first commands that a newcomer types.
func TestFiveMinutes(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	r := newReader(t)
	r.accessLog("access.log.gz", 2000)
	const imports, hours = "bin/onefold import --site blog access.log.gz", "bin/onefold report --site blog --period hour --json"
	r.follow("../../README.md", "Five minutes", map[string]outcome{
		imports: {prints: []string{`(?m)^2,000 lines: 1,\d{3} imported`}},
		"bin/onefold report --site blog --by page": {prints: []string{`(?m)^blog, 20`, `(?m)^ +page views +visits +visitors`, `█`, `(?m)^ +\d[\d,]* +\d[\d,]* +/`}},
		hours:                {prints: []string{`"period": "hour"`, `"pageViews": [1-9]`}},
		"bin/onefold verify": {prints: []string{`[1-9]\d* derived items compared: 0 differ`}},
		"bin/onefold serve": {then: func() {
			at := r.running[0].url
			for _, path := range []string{"/", "/healthz", "/metrics", "/openapi.json"} {
				r.ask(http.MethodGet, at+path, "")
			}
			r.ask(http.MethodPost, at+"/api/event", `{"site":"blog","url":"/counted"}`)
		}},
	})
	r.end()
	var told struct{ Totals struct{ PageViews int } }
	servertest.Must(t, json.Unmarshal([]byte(r.printed[hours]), &told))
	r.must(hours, &outcome{prints: []string{fmt.Sprintf(`"pageViews": %d,`, told.Totals.PageViews+1)}}) // one event arrived while it served
	before := r.printed[hours]
	r.must(imports, &outcome{prints: []string{`(?m)^2,000 lines: 0 imported`}})
	r.must(hours, &outcome{})
	mustBeTheSame(t, "imported again", r.printed[hours], before)
}

// A database, two servers and two workers on one table work together.
func TestSeveralBoxesOnOneMachine(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	r := newReader(t)
	r.follow("../../docs/guides/several-boxes.md", "Try it on one machine", map[string]outcome{
		"onefold infra apply": {prints: []string{`is ready`}},
		"onefold work status": {later: true, prints: []string{`(?m)^4 shards, 2 workers: w1 \d, w2 \d`}},
		"onefold site create shop": {then: func() {
			one, other := r.running[1], r.running[2]
			r.logIn(one, other)
			for i := range 6 {
				r.ask(http.MethodPost, []*background{one, other}[i%2].url+"/api/event", fmt.Sprintf(`{"site":"shop","url":"/p%d"}`, i))
			}
		}},
		"onefold report --site shop": {later: true, prints: []string{`(?m)^ +6 +1 +1 `}},
	})
	r.end()
}

// logIn creates the first account at one server, and logs in at another.
func (r *reader) logIn(one, other *background) {
	r.Helper()
	log, err := os.ReadFile(one.log)
	link := regexp.MustCompile(`/setup#(\S+)`).FindSubmatch(log)
	if err != nil || link == nil {
		r.Fatalf("%s prints no link to set it up: %v\n%s", one.text, err, log)
	}
	const person = `"email":"ann@example.com","password":"correct horse battery"}`
	r.ask(http.MethodPost, one.url+"/api/v1/setup", fmt.Sprintf(`{"token":%q,`, link[1])+person)
	r.ask(http.MethodPost, other.url+"/api/v1/login", `{`+person)
}
