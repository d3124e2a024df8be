package promql

import (
	"fmt"
	"regexp/syntax"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"
)

// maxPattern is how long the regular expressions of a query may be, repetitions written out: more than
// a form can hold without repetitions.
const maxPattern = 100_000

// checkPatterns limits the regular expressions of queries before they are compiled. Few bytes can take
// much memory and time: (a?){1000} is a thousand copies. A text that is not used as an expression counts
// as well. Errors: Error.
func checkPatterns(queries ...string) error {
	length := 0
	for _, query := range queries {
		var token parser.Item
		for lexer := parser.Lex(query); token.Typ != parser.EOF && token.Typ != parser.ERROR; {
			if lexer.NextItem(&token); token.Typ != parser.STRING {
				continue
			}
			text, err := strutil.Unquote(token.Val)
			if err != nil {
				break // the parser explains it
			}
			re, err := syntax.Parse(text, syntax.Perl)
			if err != nil {
				continue
			}
			if length += patternLength(re); length > maxPattern {
				return &Error{Execution, fmt.Errorf("%w: the regular expressions have more than %d characters with repetitions written out", ErrTooMuch, maxPattern)}
			}
		}
	}
	return nil
}

// patternLength returns the length of an expression with repetitions written out.
func patternLength(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += patternLength(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPattern+1)
}
