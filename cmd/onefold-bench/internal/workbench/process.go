package workbench

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

// token reads the statistics of measured servers. It need not be secret: they listen on loopback
// during a benchmark only.
const token = "a token for the benchmark"

// Process is a server in its own process.
type Process struct {
	Address string // of HTTP
	MQTT    string // address; "": none

	cmd     *exec.Cmd
	drained chan struct{} // closed when standard error was read to its end
}

var (
	saysWhere = regexp.MustCompile(`onefold serves (?:DynamoDB at )?http://([^\s;]+)|folding the changes of `)
	saysMQTT  = regexp.MustCompile(`MQTT readings: (\S+)`)
)

// Serve starts a server: program serve, with further arguments. If profile is not empty, the server
// writes a CPU profile to that path with the directory's name inserted before the extension.
func Serve(ctx context.Context, program, dir, profile string, more ...string) (*Process, error) {
	args := append([]string{"--data", dir, "serve", "--addr", "127.0.0.1:0", "--token", token}, more...)
	if profile != "" {
		ext := filepath.Ext(profile)
		args = append(args, "--cpuprofile", strings.TrimSuffix(profile, ext)+"."+filepath.Base(dir)+ext)
	}
	return Start(ctx, program, args...)
}

// Start starts a command, and waits until it prints that it serves or folds.
func Start(ctx context.Context, program string, args ...string) (*Process, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("no_onefold: %w: build it with `make build`, or set --onefold", err)
	} else if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, drained: make(chan struct{})}
	lines := bufio.NewReader(out)
	if said, err := p.listen(lines); err != nil {
		rest, _ := io.ReadAll(lines) // its last messages; the error is returned in any case
		return nil, errors.Join(fmt.Errorf("the process did not start: %s%s", said, rest), cmd.Wait())
	}
	go func() {
		defer close(p.drained)
		_, _ = io.Copy(io.Discard, lines) // so that the process never blocks on its output
	}()
	return p, nil
}

// listen reads the process's messages until one contains the address.
func (p *Process) listen(lines *bufio.Reader) (said string, err error) {
	for {
		line, err := lines.ReadString('\n')
		said += line
		if err != nil {
			return said, err
		}
		if found := saysMQTT.FindStringSubmatch(line); found != nil {
			p.MQTT = found[1]
		}
		if found := saysWhere.FindStringSubmatch(line); found != nil {
			p.Address = found[1]
			return said, nil
		}
	}
}

// Kill kills the process.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.drained
	_ = p.cmd.Wait() // the error says that the process was killed
}

// Stop stops the server and waits until it has ended.
func (p *Process) Stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.drained
	return errors.Join(err, p.cmd.Wait())
}

// ticksASecond is the unit of times in /proc, which is fixed on all Linux platforms.
const ticksASecond = 100

// CPUSeconds returns the CPU time of the server so far, user and system.
func (p *Process) CPUSeconds() (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("this system does not report the CPU time of a process: %w", err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the process name before it may contain anything
	fields := strings.Fields(rest)
	const user, system = 11, 12 // utime and stime, proc(5) fields 14 and 15
	if len(fields) <= system {
		return 0, errors.New("/proc/PID/stat does not match proc(5)")
	}
	u, err := strconv.ParseFloat(fields[user], 64)
	if err != nil {
		return 0, err
	}
	s, err := strconv.ParseFloat(fields[system], 64)
	return (u + s) / ticksASecond, err
}

// ResidentMB returns the resident memory of the server in MB.
func (p *Process) ResidentMB() (float64, error) { return ResidentMB(p.cmd.Process.Pid) }

// ResidentMB returns the resident memory of a process in MB.
func ResidentMB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("this system does not report the memory of a process: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, errors.New("the status of the process has no VmRSS")
}
