package enginebench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// errLeftOut is returned by a benchmark for which an option is missing.
var errLeftOut = errors.New("enginebench: left out")

// server is dynalite in its own process.
type server struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	url    string
}

// startDynalite runs the command on a free port.
func startDynalite(ctx context.Context, command string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	words := append(strings.Fields(command), "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--createTableMs", "0")
	s := &server{cmd: exec.CommandContext(ctx, words[0], words[1:]...), cancel: cancel, url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	if err := s.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start dynalite: %w", err)
	}
	return s, nil
}

// prepare creates the table. The client retries until the server listens.
func (s *server) prepare(ctx context.Context, c *dynamodb.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		_, err := c.CreateTable(ctx, tableInput())
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("create a table in dynalite: %w", err)
		}
	}
	name := tableName
	return dynamodb.NewTableExistsWaiter(c).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, 20*time.Second)
}

// stop ends the process.
func (s *server) stop() error {
	s.cancel()
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
