package server

import (
	"log"
	"log/slog"
	"regexp"
	"strings"
)

// addresses are what net/http names clients by in its own log.
var addresses = regexp.MustCompile(`(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.%\w]*:[0-9a-fA-F:.%\w]*\])(:\d+)?`)

// withoutAddresses logs lines of net/http as warnings, without the addresses of clients: they are logged nowhere.
type withoutAddresses struct{ logger *slog.Logger }

func (w withoutAddresses) Write(line []byte) (int, error) {
	w.logger.Warn(strings.TrimSpace(addresses.ReplaceAllString(string(line), "(client)")))
	return len(line), nil
}

func errorLog(logger *slog.Logger) *log.Logger { return log.New(withoutAddresses{logger}, "", 0) }
