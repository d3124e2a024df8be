// Package terminal formats output for people and for scripts.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Logger returns a logger that writes warnings and errors to w, or everything if it is verbose.
// Commands print their results themselves, so they log little.
func Logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// Grouped formats n with commas between thousands.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Count formats a number with its noun: 1 table, 1,200 tables, 2 entries. what is a noun, or a
// phrase that ends in one, in the singular.
func Count[N int | int64 | uint64](n N, what string) string {
	number := Grouped(int64(n)) + " "
	if n == 1 {
		return number + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok && !strings.ContainsAny(stem[max(len(stem)-1, 0):], "aeiou") {
		return number + stem + "ies"
	}
	for _, hiss := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(what, hiss) {
			return number + what + "es"
		}
	}
	return number + what + "s"
}

const longestValue = 70

// Printable makes an untrusted value safe for a terminal: it removes control characters and limits
// the length.
func Printable(value string) string {
	if runes := []rune(value); len(runes) > longestValue {
		value = string(runes[:longestValue-1]) + "…"
	}
	return withoutControls(value)
}

// withoutControls replaces control characters by dots.
func withoutControls(value string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return '·'
		}
		return r
	}, value)
}

// JSON writes a value as indented JSON.
func JSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// IsScreen reports whether w is a terminal. Other devices, such as /dev/null, are not.
func IsScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the number of columns of the terminal behind w, or 0 if w is not a terminal.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
