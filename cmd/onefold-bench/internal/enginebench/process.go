package enginebench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/engine"
)

// takeOpening measures what needs a closed database: opening it, and the memory of an idle server.
func (b *bench) takeOpening(ctx context.Context, dir string, report func(Result)) error {
	const opening, idle = "open the database, %.2f GB", "resident memory, server idle"
	size, err := directoryBytes(dir)
	if err != nil {
		return err
	}
	if b.wants(opening) {
		b.o.Progress("opening")
		r, err := b.opening(dir)
		if err != nil {
			return err
		}
		r.Name = fmt.Sprintf(opening, float64(size)/1e9)
		report(r)
	}
	if b.o.Program != "" && b.wants(idle) {
		b.o.Progress(idle)
		mb, err := idleMemory(ctx, b.o.Program, dir)
		if err != nil {
			return fmt.Errorf("enginebench: %s: %w", idle, err)
		}
		report(Result{Name: idle, Unit: "MB", Value: mb, Goal: 40, Most: true})
	}
	return nil
}

func (b *bench) opening(dir string) (Result, error) {
	var took []float64
	for range b.o.Rounds {
		began := time.Now()
		db, err := engine.Open(dir, engine.Options{Logger: b.o.Logger})
		if err != nil {
			return Result{}, err
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		if err := db.Close(); err != nil {
			return Result{}, err
		}
	}
	return Result{Unit: "ms", Value: median(took), Goal: 1000, Most: true}, nil
}

func directoryBytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// settling is the time that a server may take to become idle.
const settling = 3 * time.Second

// idleMemory starts a server on the database, and returns its resident memory in MB once it is
// idle.
func idleMemory(ctx context.Context, program, dir string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "dynamodb", "--data", dir, "--addr", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return 0, errors.Join(fmt.Errorf("the server printed nothing: %w", err), cmd.Wait())
	}
	select {
	case <-time.After(settling):
	case <-ctx.Done():
	}
	mb, err := workbench.ResidentMB(cmd.Process.Pid)
	cancel()
	if waited := cmd.Wait(); waited != nil && !errors.Is(waited, context.Canceled) && err == nil {
		err = waited
	}
	return mb, err
}
