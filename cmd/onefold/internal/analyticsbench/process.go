package analyticsbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// token reads statistics of the servers that are measured. They listen on loopback, for the time of the measure.
const token = "a token for the benchmark"

// process is a server in a process of its own.
type process struct {
	cmd     *exec.Cmd
	address string
	drained chan struct{} // closed when its standard error is read to the end
}

var saysWhere = regexp.MustCompile(`onefold serves http://([^\s;]+)`)

// serve starts a server that takes what one client sends as that of many.
func (b *bench) serve(ctx context.Context, dir string) (*process, error) {
	args := []string{"--data", dir, "serve", "--addr", "127.0.0.1:0", "--token", token, "--trust-proxy", "--event-rate", "1e9", "--site-rate", "1e8"}
	if b.o.CPUProfile != "" {
		ext := filepath.Ext(b.o.CPUProfile)
		args = append(args, "--cpuprofile", strings.TrimSuffix(b.o.CPUProfile, ext)+"."+filepath.Base(dir)+ext)
	}
	cmd := exec.CommandContext(ctx, b.o.Program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	found := saysWhere.FindStringSubmatch(line)
	if err != nil || found == nil {
		rest, _ := io.ReadAll(lines) // what it says of its end; the error is told all the same
		return nil, errors.Join(fmt.Errorf("the server did not start: %s%s", line, rest), cmd.Wait())
	}
	p := &process{cmd: cmd, address: found[1], drained: make(chan struct{})}
	go func() {
		defer close(p.drained)
		_, _ = io.Copy(io.Discard, lines) // so that it never waits for a reader
	}()
	return p, nil
}

func (p *process) stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.drained
	return errors.Join(err, p.cmd.Wait())
}

// ticksASecond is the unit of times in /proc, which Linux fixes for programs on all its platforms.
const ticksASecond = 100

// cpuSeconds is the processor time of the server so far, user and system.
func (p *process) cpuSeconds() (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("this system does not tell the processor time of a process: %w", err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
	fields := strings.Fields(rest)
	const user, system = 11, 12 // utime and stime, proc(5) fields 14 and 15
	if len(fields) <= system {
		return 0, errors.New("/proc/PID/stat is not as proc(5) describes it")
	}
	u, err := strconv.ParseFloat(fields[user], 64)
	if err != nil {
		return 0, err
	}
	s, err := strconv.ParseFloat(fields[system], 64)
	return (u + s) / ticksASecond, err
}
