package server

import (
	"log"
	"log/slog"
	"regexp"
	"strings"
)

// addresses matches the client addresses in net/http's own log lines.
var addresses = regexp.MustCompile(`(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.%\w]*:[0-9a-fA-F:.%\w]*\])(:\d+)?`)

// withoutAddresses logs the lines of net/http as warnings, without client addresses, which are
// never logged.
type withoutAddresses struct{ logger *slog.Logger }

func (w withoutAddresses) Write(line []byte) (int, error) {
	w.logger.Warn(strings.TrimSpace(addresses.ReplaceAllString(string(line), "(client)")))
	return len(line), nil
}

func errorLog(logger *slog.Logger) *log.Logger { return log.New(withoutAddresses{logger}, "", 0) }
